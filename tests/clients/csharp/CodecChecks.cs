using System;
using System.Collections.Generic;
using System.Numerics;
using Obbd;

/// <summary>The codecs, without a daemon.</summary>
static partial class Checks
{
    /// <summary>
    /// Values of RFC 8949, appendix A, and of RFC 8746: `json` is the value, `hex` how it is written.
    /// </summary>
    public static object Cbor(ObbdClient client, ObbdMap arguments)
    {
        object value = arguments["value"];
        if (arguments.Has("u32"))
            value = Array.ConvertAll(arguments.Numbers("u32"), n => (uint)n);
        if (arguments.Has("f32"))
            value = Array.ConvertAll(arguments.Numbers("f32"), n => (float)n);
        if (arguments.Has("f64"))
            value = arguments.Numbers("f64");
        string hex = arguments.Text("hex");
        Same(Hex(Written(value)), hex);
        return ReadCbor(client, arguments);
    }

    public static object ReadCbor(ObbdClient client, ObbdMap arguments)
    {
        byte[] bytes = Bytes(arguments.Text("hex"));
        var reader = new CborReader(bytes, 0, bytes.Length);
        object value = Read(bytes);
        reader.Skip();
        Same(reader.At, bytes.Length, "what Skip skips");
        return value;
    }

    public static object BrokenCbor(ObbdClient client, ObbdMap arguments)
    {
        byte[] bytes = Bytes(arguments.Text("hex"));
        Throws<FormatException>(() => Read(bytes));
        return null;
    }

    public static object EveryPrefixIsRefused(ObbdClient client, ObbdMap arguments)
    {
        byte[] whole = Written(new ObbdMap
        {
            { "a", new object[] { 1, 300, 1e300, "text", -5, null, BigInteger.Pow(2, 70) } },
            { "columns", new ObbdMap { { "boxes", new uint[] { 1, 2, 3 } }, { "points", new double[] { 1, 2 } } } },
        });
        for (int size = 0; size < whole.Length; size++)
        {
            Throws<FormatException>(() => CborReader.Read(whole, 0, size));
            Throws<FormatException>(() =>
            {
                var reader = new CborReader(whole, 0, size);
                reader.Skip();
            });
        }
        ObbdMap columns = ((ObbdMap)Read(whole)).Map("columns");
        Same(((uint[])columns["boxes"])[2], 3u);
        Same(((double[])columns["points"])[1], 2.0);
        Throws<ArgumentException>(() => Written(new ObbdMap { { "a", new object() } }), "has no form in CBOR");
        Throws<ArgumentException>(() => Json.Written(new object()), "has no form in JSON");
        return whole.Length;
    }

    static object Random(Random random, int depth)
    {
        switch (random.Next(depth > 3 ? 6 : 8))
        {
            case 0:
                return random.Next(2) == 0 ? (object)null : random.Next(2) == 0;
            case 1:
                return ((long)random.Next() << random.Next(33)) - random.Next();
            case 2:
                return BigInteger.Pow(random.Next(2, 1000), random.Next(7, 20)) * (random.Next(2) == 0 ? 1 : -1) * ulong.MaxValue;
            case 3:
            case 4:
                var bits = new byte[8];
                random.NextBytes(bits);
                double number = BitConverter.ToDouble(bits, 0);
                return double.IsNaN(number) || double.IsInfinity(number) ? -0.0 : number;
            case 5:
                var text = new char[random.Next(40)];
                for (int i = 0; i < text.Length; i++)
                    text[i] = (char)random.Next(random.Next(2) == 0 ? 0x80 : 0xd800);
                return new string(text);
            case 6:
                var list = new List<object>();
                for (int n = random.Next(6); n > 0; n--)
                    list.Add(Random(random, depth + 1));
                return list;
            default:
                var map = new ObbdMap();
                for (int n = random.Next(6); n > 0; n--)
                    map.Add(n + "\u2603", Random(random, depth + 1));
                return map;
        }
    }

    static bool Equal(object a, object b)
    {
        if (a is ObbdMap m && b is ObbdMap n)
        {
            var other = n.GetEnumerator();
            foreach (var member in m)
                if (!other.MoveNext() || other.Current.Key != member.Key || !Equal(member.Value, other.Current.Value))
                    return false;
            return m.Count == n.Count;
        }
        if (a is List<object> l && b is List<object> k)
        {
            for (int i = 0; i < l.Count; i++)
                if (i >= k.Count || !Equal(l[i], k[i]))
                    return false;
            return l.Count == k.Count;
        }
        if (a is double x && b is double y)
            return BitConverter.DoubleToInt64Bits(x) == BitConverter.DoubleToInt64Bits(y);
        return a is double whole && b is long same ? whole == same : Equals(a, b);
    }

    /// <summary>Random values come back through both codecs, doubles to the last bit.</summary>
    public static object RandomValues(ObbdClient client, ObbdMap arguments)
    {
        var random = new Random(20261123);
        int nested = 0;
        for (int i = 0; i < 3000; i++)
        {
            object value = Random(random, 0);
            nested += value is ObbdMap || value is List<object> ? 1 : 0;
            if (!Equal(value, Read(Written(value))))
                throw new CheckFailed("CBOR of " + Json.Written(value));
            if (!Equal(value, Json.Read(Json.Written(value))))
                throw new CheckFailed("JSON of " + Json.Written(value));
        }
        return nested;
    }

    public static object Json_(ObbdClient client, ObbdMap arguments)
    {
        foreach (object text in arguments.List("wrong"))
            Throws<FormatException>(() => Json.Read((string)text));
        return Json.Written(Json.Read(arguments.Text("text")));
    }
}
