using System;
using System.Collections.Generic;

namespace Obbd
{
    /// <summary>
    /// Where the `columns` of an answer begin, 0 if there are none; and where the numbers of each column do, 0 if it has none. The hits
    /// are `Count`; -1 if a column is another one than the typed array of the contract.
    /// </summary>
    struct Columns
    {
        internal int At, Count, Boxes, Distances, Fractions, Points, Normals;
    }

    /// <summary>The answer to a commit, read from where it lies. Reading allocates nothing unless it says so.</summary>
    sealed class TickAnswer
    {
        byte[] bytes = new byte[0];
        int begin, end;
        int[] results; // where the answer to each query begins
        Columns[] columns; // its `columns`, if it has some
        int count;
        int itemQuery = -1, item, itemAt, itemCount; // the item that was looked at last, of those in a list
        ObbdRequest request;

        internal long Revision { get; private set; }
        internal double Time { get; private set; }
        internal int Posed { get; private set; }
        internal int Removed { get; private set; }
        internal bool Repeated { get; private set; }

        internal TickAnswer(int queries)
        {
            results = new int[Math.Max(queries, 16)];
            columns = new Columns[results.Length];
        }

        internal void Clear()
        {
            count = 0;
            itemQuery = -1;
            Revision = 0;
            Time = double.NaN;
            Posed = Removed = 0;
            Repeated = false;
        }

        /// <summary>
        /// Reads the answer of the exchange, and what it tells of ids; says which query was not answered, or null. `removed`: did the
        /// commit remove boxes? Throws FormatException.
        /// </summary>
        internal ObbdException Read(Exchange exchange, ObbdScene scene, bool removed)
        {
            request = exchange.Request;
            Take(exchange);
            scene.NoteEpoch(exchange.Call);
            var reader = new CborReader(bytes, begin, end);
            if (removed)
                ForgetRemoved(scene);
            int unanswered = -1;
            for (int n = reader.Map(); n > 0; n--)
            {
                reader.Key();
                unanswered = Math.Max(unanswered, Member(ref reader, scene));
            }
            if (reader.At != end)
                throw new FormatException("it goes on behind its value");
            return unanswered < 0 ? null : new ObbdUnanswered(null, new ObbdProblem(Value(unanswered).Map("problem"), 0, null));
        }

        void Take(Exchange exchange)
        {
            bytes = exchange.Call.Bytes;
            begin = exchange.Call.BodyAt;
            end = begin + exchange.Call.BodySize;
            if (!exchange.IsCbor)
                Rewrite(exchange.Value()); // somebody between here and the daemon speaks JSON only
        }

        void Rewrite(object value)
        {
            var writer = new CborWriter(2 * (end - begin) + 64);
            writer.Value(value);
            bytes = writer.Bytes;
            begin = 0;
            end = writer.Size;
        }

        /// <summary>Puts the results of another answer in the place of these. Allocates.</summary>
        internal void Replace(ObbdMap whole)
        {
            Rewrite(whole);
            itemQuery = -1;
            CborReader reader = At(begin);
            if (reader.Find("results"))
                Results(ref reader);
        }

        /// <summary>The answer as an object. Allocates.</summary>
        internal ObbdMap Whole()
        {
            return (ObbdMap)CborReader.Read(bytes, begin, end - begin);
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
            else if (reader.KeyIs("ids"))
                Ids(ref reader, scene);
            else if (reader.KeyIs("results"))
                return Results(ref reader);
            else
            {
                if (reader.KeyIs("repeated"))
                    Repeated = reader.IsTrue;
                reader.Skip();
            }
            return -1;
        }

        /// <summary>Notes the ids of boxes that were put: of those that are new by name, or of all columns in their order.</summary>
        void Ids(ref CborReader reader, ObbdScene scene)
        {
            if (reader.Major == 5)
            {
                for (int n = reader.Map(); n > 0; n--)
                    scene.Note(reader.Text(), reader.Double());
                return;
            }
            CborReader list = reader, names = Sent();
            int count = 0;
            bool typed = reader.Column(CborWriter.TagIds, 1, ref count, out int at);
            if (!names.Find("put") || !IsColumns(ref names))
                return;
            int put = names.List();
            if (!typed)
                count = list.Major == 4 ? list.List() : 0; // somebody between here and the daemon speaks JSON only
            for (int i = 0; i < put && i < count; i++)
                scene.Note(names.Text(), typed ? BitConverter.ToUInt32(bytes, at + 4 * i) : list.Double());
        }

        /// <summary>Does the map that comes next hold columns? Goes to their names then.</summary>
        static bool IsColumns(ref CborReader map)
        {
            return map.Find("names") && map.Major == 4; // a box of that name is a map
        }

        int Results(ref CborReader reader)
        {
            int unanswered = -1;
            int n = reader.List();
            if (n > results.Length)
            {
                Array.Resize(ref results, 2 * n);
                Array.Resize(ref columns, 2 * n);
            }
            for (count = 0; count < n; count++)
            {
                results[count] = reader.At;
                columns[count] = default(Columns);
                for (int members = reader.Map(); members > 0; members--)
                {
                    reader.Key();
                    if (reader.KeyIs("columns"))
                    {
                        Find(ref reader, ref columns[count]);
                        continue;
                    }
                    if (reader.KeyIs("problem"))
                        unanswered = count;
                    reader.Skip();
                }
            }
            return unanswered;
        }

        /// <summary>Finds the columns of hits, and goes behind them.</summary>
        static void Find(ref CborReader reader, ref Columns found)
        {
            found = new Columns { At = reader.At };
            int hits = 0;
            bool typed = reader.Major == 5;
            if (!typed)
                reader.Skip();
            else
                for (int members = reader.Map(); members > 0; members--)
                {
                    reader.Key();
                    if (reader.KeyIs("boxes"))
                        typed &= reader.Column(CborWriter.TagIds, 1, ref hits, out found.Boxes);
                    else if (reader.KeyIs("distances"))
                        typed &= reader.Column(CborWriter.TagDoubles, 1, ref hits, out found.Distances);
                    else if (reader.KeyIs("fractions"))
                        typed &= reader.Column(CborWriter.TagDoubles, 1, ref hits, out found.Fractions);
                    else if (reader.KeyIs("points"))
                        typed &= reader.Column(CborWriter.TagDoubles, 3, ref hits, out found.Points);
                    else if (reader.KeyIs("normals"))
                        typed &= reader.Column(CborWriter.TagDoubles, 3, ref hits, out found.Normals);
                    else
                        reader.Skip();
                }
            found.Count = typed && found.Boxes > 0 ? hits : -1;
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

        /// <summary>The queries of the commit. Allocates.</summary>
        internal List<ObbdMap> Queries()
        {
            var commit = (ObbdMap)CborReader.Read(request.Bytes, request.BodyAt, request.BodySize);
            return commit.List("queries").ConvertAll(query => (ObbdMap)query);
        }

        /// <summary>The names of the boxes that the commit put, and whose ids the answer does not tell. Allocates.</summary>
        internal List<string> Untold()
        {
            var names = new List<string>();
            CborReader sent = Sent(), ids = At(begin);
            if (!sent.Find("put"))
                return names;
            bool tells = ids.Find("ids");
            CborReader columns = sent;
            if (IsColumns(ref columns))
            {
                for (int n = tells ? 0 : columns.List(); n > 0; n--)
                    names.Add(columns.Text());
                return names;
            }
            for (int n = sent.Map(); n > 0; n--)
            {
                names.Add(sent.Text());
                sent.Skip();
            }
            var told = new HashSet<string>();
            for (int n = tells && ids.Major == 5 ? ids.Map() : 0; n > 0; n--)
            {
                told.Add(ids.Text());
                ids.Skip();
            }
            names.RemoveAll(told.Contains);
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
            reader.Skip();
            return (ObbdMap)CborReader.Read(bytes, results[query], reader.At - results[query]);
        }

        /// <summary>
        /// Goes to an item of `results` of a query, from the one that was looked at last if that is before it.
        /// </summary>
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
                reader.Skip();
            itemAt = reader.At;
            return true;
        }

        static double Member(CborReader map, string name, double absent)
        {
            return map.Find(name) ? map.Double() : absent;
        }

        static ObbdVector Triple(CborReader map, string name)
        {
            return map.Find(name) ? map.Triple(0) : default(ObbdVector);
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
            if (columns[query].Count >= 0 && columns[query].At > 0)
                return index == 0 && TypedHit(ref columns[query], number, ref hit);
            if (columns[query].At > 0)
                return index == 0 && ColumnHit(At(columns[query].At), number, out hit);
            return ListedHit(query, number, index, out hit);
        }

        bool TypedHit(ref Columns of, int number, ref ObbdHit hit)
        {
            hit.Distance = hit.Fraction = double.NaN;
            if (number >= of.Count)
                return false;
            hit.Id = BitConverter.ToUInt32(bytes, of.Boxes + 4 * number);
            if (of.Distances > 0)
                hit.Distance = BitConverter.ToDouble(bytes, of.Distances + 8 * number);
            if (of.Fractions > 0)
                hit.Fraction = BitConverter.ToDouble(bytes, of.Fractions + 8 * number);
            if (of.Points > 0)
                hit.Point = Triple(of.Points + 24 * number);
            if (of.Normals > 0)
                hit.Normal = Triple(of.Normals + 24 * number);
            return hit.Id != 0;
        }

        ObbdVector Triple(int at)
        {
            return new ObbdVector(BitConverter.ToDouble(bytes, at), BitConverter.ToDouble(bytes, at + 8), BitConverter.ToDouble(bytes, at + 16));
        }

        static bool ColumnHit(CborReader columns, int number, out ObbdHit hit)
        {
            hit = default(ObbdHit);
            hit.Distance = hit.Fraction = double.NaN;
            for (int members = columns.Map(); members > 0; members--)
            {
                columns.Key();
                if (columns.KeyIs("boxes"))
                    hit.Id = (uint)columns.Element(number);
                else if (columns.KeyIs("distances"))
                    hit.Distance = columns.Element(number);
                else if (columns.KeyIs("fractions"))
                    hit.Fraction = columns.Element(number);
                else if (columns.KeyIs("points"))
                    hit.Point = columns.Triple(3 * number);
                else if (columns.KeyIs("normals"))
                    hit.Normal = columns.Triple(3 * number);
                else
                    columns.Skip();
            }
            return hit.Id != 0;
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
            hit.Point = Triple(reader, "point");
            hit.Normal = Triple(reader, "normal");
            CborReader overlapping = reader;
            hit.Started = (reader.Find("started_inside") && reader.IsTrue) || (overlapping.Find("started_overlapping") && overlapping.IsTrue);
            return true;
        }

        internal long Count(int query, int number)
        {
            if (!Has(query))
                return 0;
            if (columns[query].At > 0)
                return Element(At(columns[query].At), "boxes", number, 0) > 0 ? 1 : 0;
            CborReader reader = At(results[query]);
            if (reader.Find("count"))
                return (long)reader.Double();
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
            if (columns[query].At > 0)
            {
                time = Element(At(columns[query].At), "times", number, double.NaN);
                clamped = Element(At(columns[query].At), "clamped", number, 0) > 0;
                if (!double.IsNaN(time))
                    return true;
            }
            CborReader reader = At(results[query]);
            if (!reader.Find("at") && !(Item(query, number, out reader) && reader.Find("at")))
                return false;
            time = Member(reader, "time", double.NaN);
            clamped = reader.Find("clamped") && reader.IsTrue;
            return true;
        }
    }
}
