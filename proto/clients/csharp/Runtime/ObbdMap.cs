using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;

namespace Obbd
{
    /// <summary>
    /// An object of the contract: members by name, in the order in which they were added. Values are null, bool, numbers,
    /// BigInteger, strings, ObbdMap, ObbdVector, ObbdRotation, ObbdBox, lists and arrays of these. Arrays of uint, float,
    /// double and byte go out as typed arrays, and so the whole request goes out as CBOR.
    /// </summary>
    public sealed class ObbdMap : IEnumerable<KeyValuePair<string, object>>
    {
        readonly List<string> names = new List<string>();
        readonly Dictionary<string, object> values = new Dictionary<string, object>();

        public int Count { get { return names.Count; } }

        /// <summary>
        /// The value; null if there is no such member. Setting one keeps the place of a member that is there.
        /// </summary>
        public object this[string name]
        {
            get { return values.TryGetValue(name, out object value) ? value : null; }
            set
            {
                if (!values.ContainsKey(name))
                    names.Add(name);
                values[name] = value;
            }
        }

        public void Add(string name, object value)
        {
            values.Add(name, value);
            names.Add(name);
        }

        public bool Has(string name)
        {
            return values.ContainsKey(name);
        }

        public void Remove(string name)
        {
            if (values.Remove(name))
                names.Remove(name);
        }

        /// <summary>A copy, whose members may be changed without changing this one.</summary>
        public ObbdMap Copy()
        {
            var copy = new ObbdMap();
            foreach (string name in names)
                copy.Add(name, values[name]);
            return copy;
        }

        /// <summary>The member that is an object; null if it is none.</summary>
        public ObbdMap Map(string name)
        {
            return this[name] as ObbdMap;
        }

        /// <summary>The member that is a list; null if it is none.</summary>
        public List<object> List(string name)
        {
            return this[name] as List<object>;
        }

        /// <summary>The member that is a string; null if it is none.</summary>
        public string Text(string name)
        {
            return this[name] as string;
        }

        /// <summary>The member as a number; NaN if it is none.</summary>
        public double Number(string name)
        {
            object value = this[name];
            return Values.IsNumber(value) ? Convert.ToDouble(value, CultureInfo.InvariantCulture) : double.NaN;
        }

        /// <summary>The numbers of a list or of a typed array; null if it is neither.</summary>
        public double[] Numbers(string name)
        {
            var found = this[name] as IList;
            if (found == null)
                return null;
            var numbers = new double[found.Count];
            for (int i = 0; i < numbers.Length; i++)
                numbers[i] = Convert.ToDouble(found[i], CultureInfo.InvariantCulture);
            return numbers;
        }

        public IEnumerator<KeyValuePair<string, object>> GetEnumerator()
        {
            foreach (string name in names)
                yield return new KeyValuePair<string, object>(name, values[name]);
        }

        IEnumerator IEnumerable.GetEnumerator()
        {
            return GetEnumerator();
        }

        /// <summary>The object as JSON.</summary>
        public override string ToString()
        {
            return Json.Written(this);
        }
    }
}
