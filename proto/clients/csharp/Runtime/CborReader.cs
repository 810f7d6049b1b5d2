using System;
using System.Collections.Generic;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Text;

namespace Obbd
{
    /// <summary>
    /// Reads CBOR (RFC 8949) and typed arrays (RFC 8746), as far as the contract uses them, from where it lies. Every
    /// method throws FormatException if the bytes are none, or end too early.
    /// </summary>
    struct CborReader
    {
        const int Depth = 128; // levels: 64 of an answer, and 64 of data in it
        static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);

        internal readonly byte[] Bytes;
        internal int At;
        internal readonly int End;
        int keyAt, keySize;

        internal CborReader(byte[] bytes, int at, int end)
        {
            Bytes = bytes;
            At = at;
            End = end;
            keyAt = keySize = 0;
        }

        /// <summary>
        /// The value that fills these bytes. Arrays of ids, and the arrays inside `columns`, are typed. Other arrays of
        /// doubles are vectors, rotations and matrices: lists, as in JSON.
        /// </summary>
        internal static object Read(byte[] bytes, int at, int size)
        {
            var reader = new CborReader(bytes, at, at + size);
            object value = reader.Value(0, true);
            if (reader.At < reader.End)
                throw new FormatException("the CBOR goes on behind its value, at byte " + (reader.At - at));
            return value;
        }

        // The methods of this attribute are called several times for each number that is read, and are short without their throws.
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        int Take(int size)
        {
            int at = At;
            if (size > End - at)
                throw Short(size);
            At = at + size;
            return at;
        }

        FormatException Short(int size)
        {
            return new FormatException("the CBOR ends too early: " + size + " bytes are missing behind byte " + At);
        }

        /// <summary>The major type of the next item; -1 at the end.</summary>
        internal int Major { get { return At < End ? Bytes[At] >> 5 : -1; } }

        ulong Number(int info)
        {
            if (info < 24)
                return (ulong)info;
            if (info > 27)
                throw new FormatException("a length of unknown form before byte " + At + " of the CBOR");
            int size = 1 << (info - 24);
            int at = Take(size);
            ulong n = 0;
            for (int i = 0; i < size; i++)
                n = n << 8 | Bytes[at + i];
            return n;
        }

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        int Length(int info)
        {
            return info < 24 && info <= End - At ? info : LongLength(info);
        }

        int LongLength(int info)
        {
            ulong n = Number(info);
            if (n > (ulong)(End - At))
                throw new FormatException("the CBOR ends too early: " + n + " items are missing behind byte " + At);
            return (int)n;
        }

        int Open(int major, string what)
        {
            int first = Bytes[Take(1)];
            if (first >> 5 != major)
                throw new FormatException("the CBOR has no " + what + " before byte " + At);
            return Length(first & 31);
        }

        internal int Map()
        {
            return Open(5, "map");
        }

        internal int List()
        {
            return Open(4, "list");
        }

        internal string Text()
        {
            int size = Open(3, "text");
            return Utf8Text(Take(size), size);
        }

        string Utf8Text(int at, int size)
        {
            try
            {
                return Utf8.GetString(Bytes, at, size);
            }
            catch (DecoderFallbackException)
            {
                throw new FormatException("the text before byte " + At + " of the CBOR is no UTF-8");
            }
        }

        /// <summary>Reads the key of a member, for `KeyIs`.</summary>
        internal void Key()
        {
            keySize = Open(3, "text");
            keyAt = Take(keySize);
        }

        internal bool KeyIs(string ascii)
        {
            if (keySize != ascii.Length || Bytes[keyAt] != ascii[0])
                return false;
            for (int i = 1; i < keySize; i++)
                if (Bytes[keyAt + i] != ascii[i])
                    return false;
            return true;
        }

        /// <summary>In the map that comes next, goes to the value of this member. Else it stays.</summary>
        internal bool Find(string name)
        {
            int begin = At;
            if (Major == 5)
                for (int n = Map(); n > 0; n--)
                {
                    Key();
                    if (KeyIs(name))
                        return true;
                    Skip();
                }
            At = begin;
            return false;
        }

        /// <summary>The bits of a float or a double; `big` says in which order they stand.</summary>
        internal static unsafe double Real(byte[] bytes, int at, int size, bool big)
        {
            if (size == 8 && !big)
                return BitConverter.ToDouble(bytes, at);
            ulong bits = 0;
            for (int i = 0; i < size; i++)
                bits |= (ulong)bytes[at + i] << 8 * (big ? size - 1 - i : i);
            if (size == 8)
                return BitConverter.Int64BitsToDouble((long)bits);
            uint half = (uint)bits;
            return *(float*)&half;
        }

        /// <summary>A number, whole or not.</summary>
        internal double Double()
        {
            int first = Bytes[Take(1)];
            int info = first & 31;
            if (first >> 5 == 0)
                return Number(info);
            if (first >> 5 == 1)
                return -1.0 - Number(info);
            if (first >> 5 != 7 || info < 26 || info > 27)
                throw new FormatException("the CBOR has no number before byte " + At);
            int size = info == 26 ? 4 : 8;
            return Real(Bytes, Take(size), size, true);
        }

        internal bool IsTrue { get { return At < End && Bytes[At] == 0xf5; } }

        /// <summary>
        /// The numbers of the typed array that comes next: where they begin, how many they are, and their tag.
        /// </summary>
        bool TypedArray(out int at, out int count, out int tag)
        {
            at = count = tag = 0;
            if (Major != 6)
                return false;
            ulong named = Number(Bytes[Take(1)] & 31);
            int width = WidthOf(named), size = Open(2, "bytes");
            if (width == 0)
                throw new FormatException("the tag " + named + " before byte " + At + " of the CBOR is unknown");
            at = Take(size);
            count = size / width;
            tag = (int)named;
            return true;
        }

        /// <summary>
        /// Is a typed array of this tag next, of less than 256 bytes, as those of the hit of one ray are? Goes behind it then. Else it
        /// stays.
        /// </summary>
        bool ShortColumn(int tag, out int at, out int size)
        {
            at = size = 0;
            if (End - At < 4 || Bytes[At] != (6 << 5 | 24) || Bytes[At + 1] != tag)
                return false;
            size = Bytes[At + 2] - (2 << 5);
            at = At + 3;
            if (size == 24)
                size = Bytes[at++];
            else if (size < 0 || size > 24)
                return false;
            if (size > End - at)
                return false;
            At = at + size;
            return true;
        }

        /// <summary>
        /// Goes behind the value that comes next. Is it a typed array of this tag, with `width` numbers for each of `rows`, which is 0
        /// in front of the first column? Then `at` is where they begin.
        /// </summary>
        internal bool Column(int tag, int width, ref int rows, out int at)
        {
            if (ShortColumn(tag, out at, out int size))
            {
                int row = width * (tag == CborWriter.TagIds ? 4 : 8);
                if (rows == 0)
                    rows = size / row;
                return size == rows * row;
            }
            if (Major != 6)
            {
                Skip();
                at = 0;
                return false;
            }
            TypedArray(out at, out int count, out int found);
            if (rows == 0)
                rows = count / width;
            return found == tag && count == width * rows;
        }

        /// <summary>
        /// How many items the list, or numbers the typed array, that comes next has; 0 if it is neither.
        /// </summary>
        internal int Elements()
        {
            if (TypedArray(out int at, out int count, out int tag))
                return count;
            return Major == 4 ? List() : 0;
        }

        /// <summary>A number of the list or typed array that comes next; 0 behind its end. Goes behind all of them.</summary>
        internal double Element(int index)
        {
            if (TypedArray(out int at, out int count, out int tag))
            {
                if (index >= count)
                    return 0;
                if (tag == CborWriter.TagIds)
                    return BitConverter.ToUInt32(Bytes, at + 4 * index);
                int width = WidthOf((ulong)tag);
                return width == 1 ? Bytes[at + index] : Real(Bytes, at + width * index, width, false);
            }
            CborReader list = this;
            Skip();
            return list.Item(index) ? list.Double() : 0;
        }

        /// <summary>
        /// Three numbers, from this one on, of the list or typed array that comes next. Goes behind all of them.
        /// </summary>
        internal ObbdVector Triple(int index)
        {
            int begin = At;
            if (TypedArray(out int at, out int count, out int tag))
            {
                at += 8 * index;
                if (tag == CborWriter.TagDoubles && index + 3 <= count)
                    return new ObbdVector(BitConverter.ToDouble(Bytes, at), BitConverter.ToDouble(Bytes, at + 8),
                        BitConverter.ToDouble(Bytes, at + 16));
            }
            At = begin;
            double x = Element(index);
            At = begin;
            double y = Element(index + 1);
            At = begin;
            return new ObbdVector(x, y, Element(index + 2));
        }

        /// <summary>In the list that comes next, goes to an item; false behind its end.</summary>
        internal bool Item(int index)
        {
            if (Major != 4 || index >= List())
                return false;
            for (; index > 0; index--)
                Skip();
            return true;
        }

        /// <summary>Goes behind the next value, whatever it is.</summary>
        internal void Skip()
        {
            for (long items = 1; items > 0; items--)
            {
                int first = Bytes[Take(1)];
                int major = first >> 5, info = first & 31;
                if (major == 7)
                    Take(SizeOfSimple(info));
                else if (major == 2 || major == 3)
                    Take(info < 24 ? info : Length(info));
                else if (major == 4)
                    items += Length(info);
                else if (major == 5)
                    items += 2L * Length(info);
                else
                {
                    Number(info);
                    items += major == 6 ? 1 : 0;
                }
            }
        }

        /// <summary>
        /// How many bytes of a number stand behind the head of a simple value: false, true, null, a float or a double.
        /// </summary>
        int SizeOfSimple(int info)
        {
            if (info < 20 || info > 27 || (info > 22 && info < 26))
                throw new FormatException("a simple value before byte " + At + " of the CBOR is unknown");
            return info < 26 ? 0 : info == 26 ? 4 : 8;
        }

        object Simple(int info)
        {
            int size = SizeOfSimple(info);
            int at = Take(size);
            return size > 0 ? Real(Bytes, at, size, true) : info == 22 ? null : (object)(info == 21);
        }

        static void Deeper(int depth)
        {
            if (depth > Depth)
                throw new FormatException("the CBOR has more than 128 levels");
        }

        internal static int WidthOf(ulong tag)
        {
            return tag == CborWriter.TagBytes ? 1 : tag == CborWriter.TagDoubles ? 8
                : tag == CborWriter.TagIds || tag == CborWriter.TagFloats ? 4 : 0;
        }

        object Tagged(ulong tag, bool plain)
        {
            int first = Bytes[Take(1)];
            if (first >> 5 != 2)
                throw new FormatException("the tag " + tag + " before byte " + At + " of the CBOR wants bytes");
            int size = Length(first & 31);
            int at = Take(size);
            if (tag == 2 || tag == 3)
            {
                BigInteger magnitude = 0;
                for (int i = 0; i < size; i++)
                    magnitude = magnitude * 256 + Bytes[at + i];
                return Narrow(tag == 2 ? magnitude : -1 - magnitude);
            }
            int width = WidthOf(tag);
            if (width == 0 || size % width != 0)
                throw new FormatException("the tag " + tag + " before byte " + at + " of the CBOR is unknown");
            if (plain && tag == CborWriter.TagDoubles)
            {
                var list = new List<object>(size / 8);
                for (int i = 0; i < size; i += 8)
                    list.Add(Real(Bytes, at + i, 8, false));
                return list;
            }
            Array array = tag == CborWriter.TagBytes ? new byte[size] : tag == CborWriter.TagIds ? new uint[size / 4]
                : tag == CborWriter.TagFloats ? (Array)new float[size / 4] : new double[size / 8];
            Buffer.BlockCopy(Bytes, at, array, 0, size);
            return array;
        }

        static object Narrow(BigInteger value)
        {
            return value >= long.MinValue && value <= long.MaxValue ? (object)(long)value : value;
        }

        object Value(int depth, bool plain)
        {
            Deeper(depth);
            int first = Bytes[Take(1)];
            int info = first & 31;
            switch (first >> 5)
            {
                case 0:
                    return Narrow(Number(info));
                case 1:
                    return Narrow(-1 - (BigInteger)Number(info));
                case 2:
                    int size = Length(info);
                    var bytes = new byte[size];
                    Buffer.BlockCopy(Bytes, Take(size), bytes, 0, size);
                    return bytes;
                case 3:
                    int length = Length(info);
                    return Utf8Text(Take(length), length);
                case 4:
                    int n = Length(info);
                    var list = new List<object>(n);
                    for (int i = 0; i < n; i++)
                        list.Add(Value(depth + 1, plain));
                    return list;
                case 5:
                    var map = new ObbdMap();
                    for (int left = Length(info); left > 0; left--)
                    {
                        if (Major != 3)
                            throw new FormatException("a key before byte " + At + " of the CBOR is no text");
                        string key = Text();
                        map[key] = Value(depth + 1, plain && key != "columns");
                    }
                    return map;
                case 6:
                    return Tagged(Number(info), plain);
                default:
                    return Simple(info);
            }
        }
    }
}
