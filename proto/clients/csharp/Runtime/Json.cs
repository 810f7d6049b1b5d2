using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Numerics;
using System.Text;

namespace Obbd
{
    /// <summary>
    /// JSON (RFC 8259) of the values of an ObbdMap. Whole numbers stay whole, of any size, and -0.0 stays what it is.
    /// </summary>
    static class Json
    {
        const int Depth = 256;

        internal static string Written(object value)
        {
            var text = new StringBuilder();
            Write(text, value);
            return text.ToString();
        }

        static void Write(StringBuilder to, object value)
        {
            value = Values.Plain(value);
            if (value == null)
                to.Append("null");
            else if (value is bool flag)
                to.Append(flag ? "true" : "false");
            else if (value is string text)
                Write(to, text);
            else if (value is double || value is float || value is decimal)
                Write(to, Convert.ToDouble(value, CultureInfo.InvariantCulture));
            else if (Values.IsWhole(value))
                to.Append(((IFormattable)value).ToString(null, CultureInfo.InvariantCulture));
            else if (value is ObbdMap map)
            {
                string between = "{";
                foreach (var member in map)
                {
                    to.Append(between);
                    Write(to, member.Key);
                    to.Append(':');
                    Write(to, member.Value);
                    between = ",";
                }
                to.Append(map.Count == 0 ? "{}" : "}");
            }
            else if (value is IList list)
            {
                to.Append('[');
                for (int i = 0; i < list.Count; i++)
                {
                    if (i > 0)
                        to.Append(',');
                    Write(to, list[i]);
                }
                to.Append(']');
            }
            else
                throw new ArgumentException("a " + value.GetType().Name + " has no form in JSON");
        }

        static void Write(StringBuilder to, double number)
        {
            if (double.IsNaN(number) || double.IsInfinity(number))
                throw new ArgumentException("the number " + number.ToString(CultureInfo.InvariantCulture) + " has no form in JSON");
            if (number == 0 && BitConverter.DoubleToInt64Bits(number) != 0)
                to.Append("-0.0");
            else
                to.Append(number.ToString("R", CultureInfo.InvariantCulture));
        }

        static void Write(StringBuilder to, string text)
        {
            to.Append('"');
            foreach (char c in text)
                if (c == '"' || c == '\\')
                    to.Append('\\').Append(c);
                else if (c < ' ')
                    to.Append("\\u").Append(((int)c).ToString("x4", CultureInfo.InvariantCulture));
                else
                    to.Append(c);
            to.Append('"');
        }

        /// <summary>The value of a text. Throws FormatException if it is no JSON.</summary>
        internal static object Read(string text)
        {
            var reader = new Reader { Text = text };
            object value = reader.Value(0);
            reader.Space();
            if (reader.At < text.Length)
                throw reader.Wrong();
            return value;
        }

        struct Reader
        {
            internal string Text;
            internal int At;

            internal FormatException Wrong()
            {
                return new FormatException("the JSON is wrong at character " + At);
            }

            internal void Space()
            {
                while (At < Text.Length && (Text[At] == ' ' || Text[At] == '\n' || Text[At] == '\r' || Text[At] == '\t'))
                    At++;
            }

            bool Next(char c)
            {
                Space();
                if (At >= Text.Length || Text[At] != c)
                    return false;
                At++;
                return true;
            }

            void Want(char c)
            {
                if (!Next(c))
                    throw Wrong();
            }

            object Word(string word, object value)
            {
                if (string.CompareOrdinal(Text, At, word, 0, word.Length) != 0)
                    throw Wrong();
                At += word.Length;
                return value;
            }

            internal object Value(int depth)
            {
                Space();
                if (At >= Text.Length || depth > Depth)
                    throw Wrong();
                switch (Text[At])
                {
                    case '{':
                        return Map(depth);
                    case '[':
                        return List(depth);
                    case '"':
                        At++;
                        return String();
                    case 't':
                        return Word("true", true);
                    case 'f':
                        return Word("false", false);
                    case 'n':
                        return Word("null", null);
                    default:
                        return Number();
                }
            }

            ObbdMap Map(int depth)
            {
                var map = new ObbdMap();
                At++;
                if (Next('}'))
                    return map;
                do
                {
                    Want('"');
                    string name = String();
                    Want(':');
                    map[name] = Value(depth + 1);
                }
                while (Next(','));
                Want('}');
                return map;
            }

            List<object> List(int depth)
            {
                var list = new List<object>();
                At++;
                if (Next(']'))
                    return list;
                do
                    list.Add(Value(depth + 1));
                while (Next(','));
                Want(']');
                return list;
            }

            string String()
            {
                int plain = At;
                while (At < Text.Length && Text[At] != '"' && Text[At] != '\\' && Text[At] >= ' ')
                    At++;
                if (At < Text.Length && Text[At] == '"')
                    return Text.Substring(plain, At++ - plain);
                var made = new StringBuilder(Text, plain, At - plain, 2 * (At - plain) + 16);
                while (true)
                {
                    if (At >= Text.Length || Text[At] < ' ')
                        throw Wrong();
                    char c = Text[At++];
                    if (c == '"')
                        return made.ToString();
                    made.Append(c == '\\' ? Escaped() : c);
                }
            }

            char Escaped()
            {
                char c = At < Text.Length ? Text[At++] : ' ';
                int known = "\"\\/bfnrt".IndexOf(c);
                if (known >= 0)
                    return "\"\\/\b\f\n\r\t"[known];
                if (c != 'u' || At + 4 > Text.Length
                    || !ushort.TryParse(Text.Substring(At, 4), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture,
                        out ushort code))
                    throw Wrong();
                At += 4;
                return (char)code;
            }

            object Number()
            {
                int begin = At;
                bool whole = true;
                while (At < Text.Length && "+-0123456789.eE".IndexOf(Text[At]) >= 0)
                {
                    whole &= Text[At] == '-' || (Text[At] >= '0' && Text[At] <= '9');
                    At++;
                }
                string digits = Text.Substring(begin, At - begin);
                if (whole && long.TryParse(digits, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long small))
                    return small == 0 && digits[0] == '-' ? -0.0 : (object)small;
                if (whole
                    && BigInteger.TryParse(digits, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out BigInteger big))
                    return big;
                if (double.TryParse(digits, NumberStyles.Float, CultureInfo.InvariantCulture, out double number)
                    && !double.IsInfinity(number))
                    return number == 0 && digits[0] == '-' ? -0.0 : number;
                throw Wrong();
            }
        }
    }
}
