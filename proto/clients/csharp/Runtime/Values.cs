using System.Collections;
using System.Numerics;

namespace Obbd
{
    /// <summary>What the writers of JSON and of CBOR ask about the values of an ObbdMap.</summary>
    static class Values
    {
        internal static bool IsWhole(object value)
        {
            return value is long || value is int || value is uint || value is ulong || value is short || value is ushort
                || value is byte || value is sbyte || value is BigInteger;
        }

        internal static bool IsNumber(object value)
        {
            return value is double || value is float || value is decimal || (IsWhole(value) && !(value is BigInteger));
        }

        internal static bool IsTyped(object value)
        {
            return value is float[] || value is double[] || value is uint[] || value is byte[];
        }

        /// <summary>Is there a typed array in the value, which goes out as CBOR only?</summary>
        internal static bool NeedsCbor(object value)
        {
            if (IsTyped(value))
                return true;
            if (value is ObbdMap map)
            {
                foreach (var member in map)
                    if (NeedsCbor(member.Value))
                        return true;
                return false;
            }
            if (value is string || !(value is IEnumerable))
                return false;
            foreach (object item in (IEnumerable)value)
            {
                if (item is string || IsNumber(item))
                    return false;
                if (NeedsCbor(item))
                    return true;
            }
            return false;
        }

        /// <summary>Are all numbers of the value finite, as JSON wants them?</summary>
        internal static bool IsFinite(object value)
        {
            value = Plain(value);
            if (value is double || value is float)
            {
                double number = System.Convert.ToDouble(value);
                return !double.IsNaN(number) && !double.IsInfinity(number);
            }
            if (value is ObbdMap map)
            {
                foreach (var member in map)
                    if (!IsFinite(member.Value))
                        return false;
                return true;
            }
            if (value is string || !(value is IEnumerable))
                return true;
            foreach (object item in (IEnumerable)value)
                if (!IsFinite(item))
                    return false;
            return true;
        }

        /// <summary>Vectors, rotations and boxes as lists and objects; other values as they are.</summary>
        internal static object Plain(object value)
        {
            if (value is ObbdVector v)
                return new object[] { v.X, v.Y, v.Z };
            if (value is ObbdRotation r)
                return new object[] { r.X, r.Y, r.Z, r.W };
            return value is ObbdBox box ? box.ToMap() : value;
        }
    }
}
