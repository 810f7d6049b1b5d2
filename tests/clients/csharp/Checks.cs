using System;
using System.Collections.Generic;
using System.Globalization;
using System.Reflection;
using System.Text;
using Obbd;

/// <summary>What the tests check in C#: each method is one check, which a test in Python calls by its name.</summary>
static partial class Checks
{
    internal static object Run(string name, ObbdClient client, ObbdMap arguments)
    {
        MethodInfo check = typeof(Checks).GetMethod(name, BindingFlags.Static | BindingFlags.Public);
        if (check == null)
            throw new ArgumentException("there is no check " + name);
        var work = (Func<ObbdClient, ObbdMap, object>)Delegate.CreateDelegate(typeof(Func<ObbdClient, ObbdMap, object>), check);
        return work(client, arguments);
    }

    sealed class CheckFailed : Exception
    {
        internal CheckFailed(string what) : base(what)
        {
        }
    }

    static void Same<T>(T found, T wanted, string where = "")
    {
        if (!EqualityComparer<T>.Default.Equals(found, wanted))
            throw new CheckFailed(string.Format(CultureInfo.InvariantCulture, "{0}: found {1}, wanted {2}", where, found, wanted));
    }

    static void Near(double found, double wanted, string where = "")
    {
        if (!(Math.Abs(found - wanted) <= 1e-9))
            throw new CheckFailed(string.Format(CultureInfo.InvariantCulture, "{0}: found {1:R}, wanted {2:R}", where, found, wanted));
    }

    static T Throws<T>(Action work, string text = "") where T : Exception
    {
        try
        {
            work();
        }
        catch (T error)
        {
            if (error.Message.IndexOf(text, StringComparison.Ordinal) < 0)
                throw new CheckFailed("found the message '" + error.Message + "', wanted '" + text + "'");
            return error;
        }
        throw new CheckFailed("found no " + typeof(T).Name);
    }

    static byte[] Bytes(string hex)
    {
        var bytes = new byte[hex.Length / 2];
        for (int i = 0; i < bytes.Length; i++)
            bytes[i] = Convert.ToByte(hex.Substring(2 * i, 2), 16);
        return bytes;
    }

    static byte[] Written(object value)
    {
        var writer = new CborWriter(1);
        writer.Value(value);
        Array.Resize(ref writer.Bytes, writer.Size);
        return writer.Bytes;
    }

    static object Read(byte[] bytes)
    {
        return CborReader.Read(bytes, 0, bytes.Length);
    }

    static string Hex(byte[] bytes)
    {
        var hex = new StringBuilder();
        foreach (byte one in bytes)
            hex.Append(one.ToString("x2", CultureInfo.InvariantCulture));
        return hex.ToString();
    }

    static ObbdVector V(double x, double y, double z)
    {
        return new ObbdVector(x, y, z);
    }

    static ObbdBox Cube(double x, string entity = null)
    {
        return new ObbdBox(V(x, 0, 0), V(1, 1, 1), entity);
    }
}
