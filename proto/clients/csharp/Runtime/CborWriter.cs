using System;
using System.Collections;
using System.Numerics;
using System.Text;

namespace Obbd
{
    /// <summary>Writes CBOR (RFC 8949) and typed arrays (RFC 8746) into memory that it keeps from use to use.</summary>
    sealed class CborWriter
    {
        internal const int TagBytes = 64, TagIds = 70, TagFloats = 85, TagDoubles = 86;
        static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);

        internal byte[] Bytes;
        internal int Size;

        internal CborWriter(int capacity)
        {
            Bytes = new byte[capacity];
        }

        internal void Reserve(int more)
        {
            if (more > Bytes.Length - Size)
                Array.Resize(ref Bytes, Math.Max(checked(Size + more), Bytes.Length < 1 << 29 ? 2 * Bytes.Length : 0));
        }

        internal void Byte(int value)
        {
            Reserve(1);
            Bytes[Size++] = (byte)value;
        }

        void BigEndian(ulong value, int size)
        {
            Reserve(size);
            byte[] bytes = Bytes;
            for (int at = Size + size - 1; at >= Size; at--)
            {
                bytes[at] = (byte)value;
                value >>= 8;
            }
            Size += size;
        }

        internal void Head(int major, ulong n)
        {
            major <<= 5;
            if (n < 24)
            {
                Byte(major | (int)n);
                return;
            }
            int log = n < 0x100 ? 0 : n < 0x10000 ? 1 : n < 0x100000000 ? 2 : 3;
            Byte(major | (24 + log));
            BigEndian(n, 1 << log);
        }

        internal void Map(int members)
        {
            Head(5, (ulong)members);
        }

        internal void List(int items)
        {
            Head(4, (ulong)items);
        }

        internal void Bool(bool value)
        {
            Byte(value ? 0xf5 : 0xf4);
        }

        internal void Whole(long value)
        {
            if (value >= 0)
                Head(0, (ulong)value);
            else
                Head(1, (ulong)(-1 - value));
        }

        internal unsafe void Double(double value)
        {
            Reserve(9);
            fixed (byte* to = &Bytes[Size])
                Double(to, value);
            Size += 9;
        }

        static unsafe void Double(byte* to, double value)
        {
            ulong bits = *(ulong*)&value;
            to[0] = 0xfb;
            to[1] = (byte)(bits >> 56);
            to[2] = (byte)(bits >> 48);
            to[3] = (byte)(bits >> 40);
            to[4] = (byte)(bits >> 32);
            to[5] = (byte)(bits >> 24);
            to[6] = (byte)(bits >> 16);
            to[7] = (byte)(bits >> 8);
            to[8] = (byte)bits;
        }

        internal void Text(string text)
        {
            if (!ShortAscii(text))
                AnyText(text);
        }

        /// <summary>
        /// Most texts are names of members: less than 24 ASCII characters. Writes nothing and gives false for others.
        /// </summary>
        unsafe bool ShortAscii(string text)
        {
            int size = text.Length;
            if (size >= 24)
                return false;
            Reserve(1 + size);
            fixed (byte* to = &Bytes[Size])
            fixed (char* from = text)
            {
                to[0] = (byte)(3 << 5 | size);
                for (int i = 0; i < size; i++)
                {
                    char c = from[i];
                    if (c >= 0x80)
                        return false;
                    to[1 + i] = (byte)c;
                }
            }
            Size += 1 + size;
            return true;
        }

        void AnyText(string text)
        {
            int size = Utf8.GetByteCount(text);
            Head(3, (ulong)size);
            Reserve(size);
            Size += Utf8.GetBytes(text, 0, text.Length, Bytes, Size);
        }

        internal unsafe void Vector(ObbdVector v)
        {
            Reserve(28);
            fixed (byte* to = &Bytes[Size])
            {
                to[0] = 4 << 5 | 3;
                Double(to + 1, v.X);
                Double(to + 10, v.Y);
                Double(to + 19, v.Z);
            }
            Size += 28;
        }

        internal void Rotation(ObbdRotation r)
        {
            List(4);
            Double(r.X);
            Double(r.Y);
            Double(r.Z);
            Double(r.W);
        }

        /// <summary>The head of a typed array, whose bytes are to follow.</summary>
        internal void Typed(int tag, int bytes)
        {
            Head(6, (ulong)tag);
            Head(2, (ulong)bytes);
        }

        internal unsafe void Raw(void* from, int size)
        {
            Reserve(size);
            fixed (byte* to = &Bytes[Size == Bytes.Length ? 0 : Size])
                Buffer.MemoryCopy(from, to, size, size);
            Size += size;
        }

        /// <summary>
        /// Writes 8 bytes: the double as typed arrays have it. The caller has reserved them. They may lie unaligned, where some
        /// processors store no double.
        /// </summary>
        internal static unsafe void LittleEndian(byte* to, double value)
        {
            ulong bits = *(ulong*)&value;
            to[0] = (byte)bits;
            to[1] = (byte)(bits >> 8);
            to[2] = (byte)(bits >> 16);
            to[3] = (byte)(bits >> 24);
            to[4] = (byte)(bits >> 32);
            to[5] = (byte)(bits >> 40);
            to[6] = (byte)(bits >> 48);
            to[7] = (byte)(bits >> 56);
        }

        internal static unsafe void LittleEndian(byte* to, ObbdVector v)
        {
            LittleEndian(to, v.X);
            LittleEndian(to + 8, v.Y);
            LittleEndian(to + 16, v.Z);
        }

        internal void Raw(CborWriter other)
        {
            Reserve(other.Size);
            Buffer.BlockCopy(other.Bytes, 0, Bytes, Size, other.Size);
            Size += other.Size;
        }

        void Typed(int tag, Array array, int width)
        {
            int size = checked(array.Length * width);
            Typed(tag, size);
            Reserve(size);
            Buffer.BlockCopy(array, 0, Bytes, Size, size);
            Size += size;
        }

        void Big(BigInteger value)
        {
            bool negative = value.Sign < 0;
            BigInteger magnitude = negative ? -1 - value : value;
            if (magnitude <= ulong.MaxValue)
            {
                Head(negative ? 1 : 0, (ulong)magnitude);
                return;
            }
            byte[] digits = magnitude.ToByteArray(); // little-endian, perhaps with a zero for the sign
            int size = digits.Length;
            while (digits[size - 1] == 0)
                size--;
            Head(6, negative ? 3UL : 2UL);
            Head(2, (ulong)size);
            for (int i = size - 1; i >= 0; i--)
                Byte(digits[i]);
        }

        /// <summary>Any value of an ObbdMap. Throws ArgumentException if it has no form in CBOR.</summary>
        internal void Value(object value)
        {
            value = Values.Plain(value);
            if (value == null)
                Byte(0xf6);
            else if (value is bool flag)
                Bool(flag);
            else if (value is string text)
                Text(text);
            else if (value is double || value is float || value is decimal)
                Double(Convert.ToDouble(value));
            else if (value is BigInteger big)
                Big(big);
            else if (value is ulong unsigned)
                Head(0, unsigned);
            else if (Values.IsWhole(value))
                Whole(Convert.ToInt64(value));
            else if (value is ObbdMap map)
            {
                Map(map.Count);
                foreach (var member in map)
                {
                    Text(member.Key);
                    Value(member.Value);
                }
            }
            else if (value is uint[] ids)
                Typed(TagIds, ids, 4);
            else if (value is float[] floats)
                Typed(TagFloats, floats, 4);
            else if (value is double[] doubles)
                Typed(TagDoubles, doubles, 8);
            else if (value is byte[] bytes)
                Typed(TagBytes, bytes, 1);
            else if (value is IList list)
            {
                List(list.Count);
                foreach (object item in list)
                    Value(item);
            }
            else
                throw new ArgumentException("a " + value.GetType().Name + " has no form in CBOR");
        }
    }
}
