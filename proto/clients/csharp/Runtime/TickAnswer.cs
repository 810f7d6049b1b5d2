using System;
using System.Collections.Generic;

namespace Obbd
{
    /// <summary>The answer to a commit, read from where it lies. Reading allocates nothing unless it says so.</summary>
    sealed class TickAnswer
    {
        byte[] bytes = new byte[0];
        int begin, end;
        int[] results = new int[64]; // where the answer to each query begins
        int count;
        int itemQuery = -1, item, itemAt, itemCount; // the item that was looked at last, of those in a list
        ObbdRequest request;

        internal long Revision { get; private set; }
        internal double Time { get; private set; }
        internal int Posed { get; private set; }
        internal int Removed { get; private set; }
        internal bool Repeated { get; private set; }

        internal void Clear()
        {
            count = 0;
            itemQuery = -1;
            Revision = 0;
            Time = double.NaN;
            Posed = Removed = 0;
            Repeated = false;
        }

        /// <summary>Reads the answer of the exchange, and what it tells of ids; says what is wrong with it, or null.</summary>
        internal ObbdException Read(Exchange exchange, ObbdScene scene)
        {
            try
            {
                request = exchange.Request;
                Take(exchange);
                scene.NoteEpoch(exchange.Call);
                var reader = new CborReader(bytes, begin, end);
                reader.Skip(0);
                if (reader.At != end)
                    throw new FormatException("it goes on behind its value");
                reader.At = begin;
                ForgetRemoved(scene);
                int unanswered = -1;
                for (int n = reader.Map(); n > 0; n--)
                {
                    reader.Key();
                    unanswered = Math.Max(unanswered, Member(ref reader, scene));
                }
                return unanswered < 0 ? null : new ObbdUnanswered(null, new ObbdProblem(Value(unanswered).Map("problem"), 0, null));
            }
            catch (FormatException error)
            {
                Clear();
                return exchange.Unreadable(error);
            }
        }

        void Take(Exchange exchange)
        {
            bytes = exchange.Call.Bytes;
            begin = exchange.Call.BodyAt;
            end = begin + exchange.Call.BodySize;
            if (exchange.IsCbor)
                return;
            var writer = new CborWriter(2 * (end - begin) + 64); // somebody between here and the daemon speaks JSON only
            writer.Value(exchange.Value());
            bytes = writer.Bytes;
            begin = 0;
            end = writer.Size;
        }

        /// <summary>Reads a member of the answer; the number of a query that was not answered, or -1.</summary>
        int Member(ref CborReader reader, ObbdScene scene)
        {
            if (reader.KeyIs("revision"))
                Revision = (long)reader.Double();
            else if (reader.KeyIs("time"))
                Time = reader.Double();
            else if (reader.KeyIs("posed"))
                Posed = (int)reader.Double();
            else if (reader.KeyIs("removed"))
                Removed = (int)reader.Double();
            else if (reader.KeyIs("ids") && reader.Major == 5)
                for (int n = reader.Map(); n > 0; n--)
                    scene.Note(reader.Text(), reader.Double());
            else if (reader.KeyIs("results"))
                return Results(ref reader);
            else
            {
                if (reader.KeyIs("repeated"))
                    Repeated = reader.IsTrue;
                reader.Skip(0);
            }
            return -1;
        }

        int Results(ref CborReader reader)
        {
            int unanswered = -1;
            int n = reader.List();
            if (n > results.Length)
                Array.Resize(ref results, 2 * n);
            for (count = 0; count < n; count++)
            {
                results[count] = reader.At;
                CborReader look = reader;
                if (unanswered < 0 && look.Find("problem"))
                    unanswered = count;
                reader.Skip(0);
            }
            return unanswered;
        }

        // ---- What was sent ------------------------------------------------------------------------

        CborReader Sent()
        {
            return new CborReader(request.Bytes, request.BodyAt, request.BodyAt + request.BodySize);
        }

        void ForgetRemoved(ObbdScene scene)
        {
            CborReader sent = Sent();
            if (!sent.Find("remove"))
                return;
            for (int n = sent.List(); n > 0; n--)
                scene.Forget(sent.Text());
        }

        /// <summary>The names of a map of the commit; null if it has none. Allocates.</summary>
        internal List<string> NamesOf(string member)
        {
            CborReader sent = Sent();
            if (!sent.Find(member))
                return null;
            var names = new List<string>();
            for (int n = sent.Map(); n > 0; n--)
            {
                names.Add(sent.Text());
                sent.Skip(0);
            }
            return names;
        }

        // ---- Results ------------------------------------------------------------------------------

        CborReader At(int position)
        {
            return new CborReader(bytes, position, end);
        }

        bool Has(int query)
        {
            return query >= 0 && query < count;
        }

        /// <summary>The answer to a query. Allocates.</summary>
        internal ObbdMap Value(int query)
        {
            if (!Has(query))
                return null;
            CborReader reader = At(results[query]);
            reader.Skip(0);
            return (ObbdMap)CborReader.Read(bytes, results[query], reader.At - results[query]);
        }

        /// <summary>Goes to an item of `results` of a query, from the one that was looked at last if that is before it.</summary>
        bool Item(int query, int number, out CborReader reader)
        {
            reader = At(0);
            if (!Has(query) || number < 0)
                return false;
            if (itemQuery != query || item > number)
            {
                reader.At = results[query];
                if (!reader.Find("results"))
                    return false;
                itemCount = reader.List();
                itemQuery = query;
                item = 0;
                itemAt = reader.At;
            }
            if (number >= itemCount)
                return false;
            reader.At = itemAt;
            for (; item < number; item++)
                reader.Skip(0);
            itemAt = reader.At;
            return true;
        }

        static double Member(CborReader map, string name, double absent)
        {
            return map.Find(name) ? map.Double() : absent;
        }

        static ObbdVector Triple(CborReader map, string name, int at)
        {
            if (!map.Find(name))
                return default(ObbdVector);
            CborReader y = map, z = map;
            return new ObbdVector(map.Element(at), y.Element(at + 1), z.Element(at + 2));
        }

        static double Element(CborReader map, string name, int index, double absent)
        {
            return map.Find(name) ? map.Element(index) : absent;
        }

        internal bool Hit(int query, int number, int index, out ObbdHit hit)
        {
            hit = default(ObbdHit);
            if (!Has(query) || index < 0 || number < 0)
                return false;
            CborReader reader = At(results[query]);
            return reader.Find("columns") ? index == 0 && ColumnHit(reader, number, out hit) : ListedHit(query, number, index, out hit);
        }

        static bool ColumnHit(CborReader columns, int number, out ObbdHit hit)
        {
            hit = default(ObbdHit);
            hit.Id = (uint)Element(columns, "boxes", number, 0);
            if (hit.Id == 0)
                return false;
            hit.Distance = Element(columns, "distances", number, double.NaN);
            hit.Fraction = Element(columns, "fractions", number, double.NaN);
            hit.Point = Triple(columns, "points", 3 * number);
            hit.Normal = Triple(columns, "normals", 3 * number);
            return true;
        }

        bool ListedHit(int query, int number, int index, out ObbdHit hit)
        {
            hit = default(ObbdHit);
            if (!Item(query, number, out CborReader reader) || !(reader.Find("hits") || reader.Find("boxes")) || !reader.Item(index)
                || reader.Major != 5)
                return false;
            hit.Id = (uint)Member(reader, "box", 0);
            hit.Distance = Member(reader, "distance", double.NaN);
            hit.Fraction = Member(reader, "fraction", double.NaN);
            hit.Point = Triple(reader, "point", 0);
            hit.Normal = Triple(reader, "normal", 0);
            CborReader overlapping = reader;
            hit.Started = (reader.Find("started_inside") && reader.IsTrue) || (overlapping.Find("started_overlapping") && overlapping.IsTrue);
            return true;
        }

        internal long Count(int query, int number)
        {
            if (!Has(query))
                return 0;
            CborReader reader = At(results[query]), columns = reader;
            if (reader.Find("count"))
                return (long)reader.Double();
            if (columns.Find("columns"))
                return Element(columns, "boxes", number, 0) > 0 ? 1 : 0;
            return Item(query, number, out reader) && (reader.Find("hits") || reader.Find("boxes")) ? reader.Elements() : 0;
        }

        internal uint Box(int query, int number, int index)
        {
            if (index < 0 || !Item(query, number, out CborReader reader) || !reader.Find("boxes"))
                return 0;
            CborReader object_ = reader;
            if (object_.Item(index) && object_.Major == 5)
                return (uint)Member(object_, "box", 0);
            return (uint)reader.Element(index);
        }

        internal bool Pair(int query, int index, out uint a, out uint b)
        {
            a = b = 0;
            if (!Has(query) || index < 0)
                return false;
            CborReader reader = At(results[query]);
            if (!reader.Find("pairs"))
                return false;
            CborReader second = reader;
            a = (uint)reader.Element(2 * index);
            b = (uint)second.Element(2 * index + 1);
            return b != 0;
        }

        internal bool Overlaps(int query, int pair)
        {
            return Item(query, pair, out CborReader reader) && reader.Find("overlap") && reader.IsTrue;
        }

        internal bool Seen(int query, int number, out double time, out bool clamped)
        {
            time = double.NaN;
            clamped = false;
            if (!Has(query))
                return false;
            CborReader reader = At(results[query]), columns = reader;
            if (columns.Find("columns") && columns.Find("times"))
            {
                CborReader times = At(results[query]);
                times.Find("columns");
                time = Element(times, "times", number, double.NaN);
                clamped = Element(times, "clamped", number, 0) > 0;
                return true;
            }
            if (!reader.Find("at") && !(Item(query, number, out reader) && reader.Find("at")))
                return false;
            time = Member(reader, "time", double.NaN);
            clamped = reader.Find("clamped") && reader.IsTrue;
            return true;
        }
    }
}
