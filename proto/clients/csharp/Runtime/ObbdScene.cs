using System;
using System.Collections;
using System.Collections.Generic;
using System.Runtime.CompilerServices;

namespace Obbd
{
    /// <summary>
    /// A scene: its boxes, commits, queries and events, and what the client knows of it: the ids of names, and their
    /// epoch.
    /// </summary>
    public sealed class ObbdScene
    {
        const int PageOfBoxes = 10000;
        const int Few = 64; // boxes that are asked one by one rather than by listing all
        const string EpochHeader = "Obbd-Epoch";
        internal const string IfEpoch = "Obbd-If-Epoch";
        internal const string NoScene = "/problems/no-scene";
        static readonly string[] Changes = { "time", "remove", "remove_frames", "frames", "put", "pose", "transform" };

        readonly Dictionary<string, uint> known = new Dictionary<string, uint>();
        readonly Dictionary<uint, string> named = new Dictionary<uint, string>();
        readonly ConditionalWeakTable<uint[], string> given = new ConditionalWeakTable<uint[], string>();

        internal readonly Sender Sender;
        internal readonly string Path, CommitPath;

        internal ObbdScene(string name, Sender sender)
        {
            Name = name;
            Sender = sender;
            Path = "/v1/scenes/" + Uri.EscapeDataString(name);
            CommitPath = Path + "/commit";
            Epoch = "";
        }

        /// <summary>
        /// Raised when the daemon has lost the boxes, as after a restart, for scenes are in memory: the place to put them again
        /// and to ask for their ids. The call that noticed it fails with ObbdLost then. If a handler throws, so does the call,
        /// and the next one raises it again.
        /// </summary>
        public event Action<ObbdScene> Lost;

        bool putting; // do the handlers of `Lost` run?

        /// <summary>Was the scene lost, and have the handlers of `Lost` not run to their ends since?</summary>
        bool owed;

        public string Name { get; private set; }

        /// <summary>The epoch in which the known ids were given; empty if none is known.</summary>
        internal string Epoch { get; private set; }

        /// <summary>
        /// Was the scene lost, and no id learned since? Ids that the program holds mean nothing then.
        /// </summary>
        internal bool IsLost { get; private set; }

        /// <summary>The scene in the web editor; null if only a unix socket is known.</summary>
        public string Page
        {
            get { return Sender.Transport.SocketPath != null ? null : Sender.Transport.Base + "/#" + Uri.EscapeDataString(Name); }
        }

        // ---- Commits and queries --------------------------------------------------------------------

        /// <summary>
        /// A builder of commits that takes its memory here and keeps it: a tick of at most so many poses and rays allocates
        /// nothing. More are taken, too; then the memory grows.
        /// </summary>
        public ObbdTick NewTick(int poses = 0, int rays = 0)
        {
            return new ObbdTick(this, poses, rays);
        }

        /// <summary>
        /// Applies changes and asks queries, all or nothing. `commit` has the members of the contract: time, if_revision, put,
        /// pose, queries and so on. `retries` is how often it may be sent again, `timeout` the milliseconds for all attempts.
        /// Throws ObbdLost if the scene began anew, ObbdUnknown if nobody can tell whether the commit was made, and
        /// ObbdUnanswered if it was made without an answer to its queries. A commit gets an `id`, by which the scene knows it
        /// again, so it is sent again behind a cut. A commit with `time` and moves is a tick: it gets none and is not sent
        /// again, unless `retries` says so, for the next one is better.
        /// </summary>
        public ObbdMap Commit(ObbdMap commit, int? timeout = null, int? retries = null)
        {
            commit = commit.Copy();
            if (retries == null)
                retries = commit.Has("time") && (commit.Has("pose") || commit.Has("frames")) ? 0 : Sender.Retries;
            bool dry = commit["dry_run"] is bool isDry && isDry;
            bool changes = !dry && Array.Exists(Changes, commit.Has);
            if (changes && retries > 0 && !commit.Has("id"))
                commit.Add("id", NewId());
            IList queries = commit["queries"] as IList;
            List<ObbdMap> asked = queries == null ? new List<ObbdMap>() : Meant(queries);
            if (queries != null)
                commit["queries"] = asked;
            ObbdMap pose = commit.Map("pose");
            string epoch = pose == null ? Epoch : EpochOf(pose["ids"] as uint[]);
            ObbdMap committed = Send("POST", "/commit", commit, changes, epoch, IsTyped(asked), commit.Has("id"), timeout, retries).Map;
            if (!dry)
                NotePut(commit, committed);
            return Answered(asked, committed, timeout, retries);
        }

        internal static string NewId()
        {
            return Guid.NewGuid().ToString("N");
        }

        /// <summary>
        /// The queries; an `at` that is a number means this time, or the nearest one that the history has.
        /// </summary>
        static List<ObbdMap> Meant(IList queries)
        {
            var meant = new List<ObbdMap>();
            foreach (object query in queries)
                meant.Add(Meant((ObbdMap)query));
            return meant;
        }

        static ObbdMap Meant(ObbdMap query)
        {
            if (!Values.IsNumber(query["at"]))
                return query;
            query = query.Copy();
            query["at"] = new ObbdMap { { "time", query["at"] }, { "clamp", true } };
            return query;
        }

        /// <summary>Does an answer hold ids or columns?</summary>
        static bool IsTyped(List<ObbdMap> queries)
        {
            return queries.Exists(query => query.Text("by") == "id" || (query["columns"] is bool columns && columns));
        }

        void NotePut(ObbdMap commit, ObbdMap committed)
        {
            if (commit["remove"] is IEnumerable removed)
                foreach (object name in removed)
                    Forget((string)name);
            if (committed["ids"] is ObbdMap ids)
                foreach (var id in ids)
                    Note(id.Key, id.Value);
            else if (committed["ids"] is IList list && commit.Map("put") is ObbdMap put && put["names"] is IList names)
                for (int i = 0; i < list.Count; i++)
                    Note((string)names[i], list[i]);
            if (committed["ids"] is uint[] array)
                Give(array);
            if (committed.Has("ids_omitted"))
                LearnPut(commit.Map("put"), committed);
        }

        void LearnPut(ObbdMap put, ObbdMap committed)
        {
            var untold = new List<string>();
            ObbdMap told = committed.Map("ids");
            if (put == null || (put["names"] is IList && committed.Has("ids")))
                return; // columns, whose ids are all told
            if (put["names"] is IList columns)
                foreach (object name in columns)
                    untold.Add((string)name);
            else
                foreach (var box in put)
                    if (told == null || !told.Has(box.Key))
                        untold.Add(box.Key);
            LearnUntold(untold);
        }

        /// <summary>
        /// Asks for the ids of boxes that were put and whose ids the answer does not tell, unless they are known already. If an id cannot
        /// be read, it stays unknown: the commit was made.
        /// </summary>
        internal void LearnUntold(List<string> names)
        {
            names.RemoveAll(known.ContainsKey);
            try
            {
                Learn(names);
            }
            catch (Exception)
            {
                // the commit was made, with ids or without
            }
        }

        /// <summary>
        /// Asks those queries again, of the same state, that the daemon could not answer behind the commit. Throws ObbdUnanswered
        /// if some stay without an answer, whatever the reason: the commit was made.
        /// </summary>
        internal ObbdMap Answered(List<ObbdMap> queries, ObbdMap committed, int? timeout, int? retries)
        {
            List<object> results = committed.List("results");
            List<int> open = Open(results);
            if (open.Count > 0 && retries != 0)
            {
                List<ObbdMap> again = open.ConvertAll(i => AtState(queries[i], committed));
                var body = new ObbdMap { { "queries", again } };
                try
                {
                    List<object> answers = Send("POST", "/commit", body, false, Epoch, IsTyped(again), false, timeout, retries).Map.List("results");
                    for (int i = 0; i < open.Count; i++)
                        results[open[i]] = answers[i];
                }
                catch (Exception cause)
                {
                    throw new ObbdUnanswered(committed, cause);
                }
                open = Open(results);
            }
            if (open.Count > 0)
                throw new ObbdUnanswered(committed, new ObbdProblem(((ObbdMap)results[open[0]]).Map("problem"), 0, null));
            return committed;
        }

        static List<int> Open(List<object> results)
        {
            var open = new List<int>();
            for (int i = 0; i < results.Count; i++)
                if (results[i] is ObbdMap result && result.Has("problem"))
                    open.Add(i);
            return open;
        }

        /// <summary>The query, about the state that the commit made.</summary>
        static ObbdMap AtState(ObbdMap query, ObbdMap committed)
        {
            query = query.Copy();
            ObbdMap at = query.Map("at");
            if (at == null)
                query["at"] = new ObbdMap { { "revision", committed["revision"] } };
            else if (at.Has("ago"))
            {
                at = at.Copy();
                at["time"] = committed.Number("time") - at.Number("ago");
                at.Remove("ago");
                query["at"] = at;
            }
            return query;
        }

        /// <summary>Asks one query, an object with its `kind`.</summary>
        public ObbdMap Query(ObbdMap query, int? timeout = null, int? retries = null)
        {
            query = Meant(query);
            ObbdMap body = query.Copy();
            body.Remove("kind");
            var asked = new List<ObbdMap> { query };
            return Send("POST", "/query/" + query.Text("kind"), body, false, Epoch, IsTyped(asked), false, timeout, retries).Map;
        }

        // ---- Boxes and ids --------------------------------------------------------------------------

        /// <summary>
        /// Puts boxes by name, or in columns. Their ids are known then, also of boxes that were there before: those that are not known and
        /// that the answer does not tell are asked for. If that fails, these stay unknown, for the boxes were put.
        /// </summary>
        public ObbdMap Put(ObbdMap boxes, int? timeout = null, int? retries = null)
        {
            ObbdMap committed = Commit(new ObbdMap { { "put", boxes } }, timeout, retries);
            if (!committed.Has("ids_omitted"))
                LearnPut(boxes, committed);
            return committed;
        }

        /// <summary>The id of a box that was put or listed through this object. Throws KeyNotFoundException.</summary>
        public uint IdOf(string name)
        {
            if (known.TryGetValue(name, out uint id))
                return id;
            throw new KeyNotFoundException("the id of '" + name + "' is not known: put the box, or learn its id, first");
        }

        public bool TryIdOf(string name, out uint id)
        {
            return known.TryGetValue(name, out id);
        }

        /// <summary>
        /// The ids of boxes, as an array that is refused when the scene began anew: hand it to a pose as it is.
        /// </summary>
        public uint[] Ids(IEnumerable<string> names)
        {
            var ids = new List<uint>();
            foreach (string name in names)
                ids.Add(IdOf(name));
            return Give(ids.ToArray());
        }

        /// <summary>The name of an id; null if it is not known.</summary>
        public string NameOf(uint id)
        {
            return named.TryGetValue(id, out string name) ? name : null;
        }

        /// <summary>Reads the ids of boxes, also of those that are known. A box that is not in the scene has none then.</summary>
        public void Learn(IEnumerable<string> names)
        {
            var wanted = new HashSet<string>(names);
            if (wanted.Count > Few)
            {
                foreach (ObbdMap box in Boxes())
                    if (wanted.Remove(box.Text("name")) && wanted.Count == 0)
                        return;
                foreach (string name in wanted)
                    Forget(name);
                return;
            }
            foreach (string name in wanted)
                try
                {
                    Box(name);
                }
                catch (ObbdProblem problem) when (problem.Status == 404 && !(problem is ObbdLost))
                {
                    Forget(name);
                }
        }

        /// <summary>The boxes by id, page by page. `which` is more of the query string, as "prefix=car-".</summary>
        public IEnumerable<ObbdMap> Boxes(string which = null)
        {
            bool present = which == null || which.IndexOf("at_", StringComparison.Ordinal) < 0;
            foreach (ObbdMap box in Pages("/boxes", "boxes", "limit=" + PageOfBoxes + (which == null ? "" : "&" + which)))
            {
                if (present)
                    Note(box.Text("name"), box["id"]);
                yield return box;
            }
        }

        /// <summary>
        /// One box. `include` adds derived geometry, as "corners,aabb"; `which` is more of the query string, as "fresh=true".
        /// </summary>
        public ObbdMap Box(string name, string include = null, string which = null)
        {
            string asked = Asked(include == null ? null : "include=" + Uri.EscapeDataString(include), which);
            ObbdMap box = Call("GET", BoxPath(name) + asked);
            if (!box.Has("at"))
                Note(name, box["id"]);
            return box;
        }

        public ObbdMap Patch(string name, ObbdMap fields)
        {
            return Call("PATCH", BoxPath(name), fields);
        }

        public ObbdMap Transform(string name, ObbdMap how)
        {
            return Call("POST", BoxPath(name) + "/transform", how);
        }

        /// <summary>Grows a box until it holds the others.</summary>
        public ObbdMap Merge(string name, params string[] others)
        {
            return Call("POST", BoxPath(name) + "/merge", new ObbdMap { { "with", others } });
        }

        /// <summary>The frames by name, page by page.</summary>
        public IEnumerable<ObbdMap> Frames(string prefix = null, string which = null)
        {
            return Pages("/frames", "frames", Joined(prefix == null ? null : "prefix=" + Uri.EscapeDataString(prefix), which));
        }

        /// <summary>The queries that the scene recorded (`record` of its settings), page by page; `which` is written
        /// as in an address: "tag=shot&amp;hit=true".</summary>
        public IEnumerable<ObbdMap> Recorded(string which = "")
        {
            return Pages("/queries", "queries", which);
        }

        // ---- The scene ------------------------------------------------------------------------------

        /// <summary>
        /// What the scene is, and its newest state. `which` says whose, if several daemons share a log: "fresh=true" is that of all
        /// of them. With "revision=41" the daemon waits until it knows a state of at least this revision, so what was written at
        /// one daemon is read at another one. All calls that read take these two.
        /// </summary>
        public ObbdMap Info(string which = null)
        {
            return Call("GET", Asked(which));
        }

        /// <summary>Makes the scene, or changes its settings.</summary>
        public ObbdMap Set(ObbdMap settings = null)
        {
            return Call("PUT", "", settings ?? new ObbdMap());
        }

        /// <summary>Deletes the scene, unless it is gone already.</summary>
        public void Delete()
        {
            try
            {
                Call("DELETE", "");
            }
            catch (ObbdProblem problem) when (problem.Type == NoScene)
            {
                // nothing is left to do
            }
            Forget();
            owed = false;
        }

        /// <summary>Makes the scene `to` of a state of this one; by default of the present one.</summary>
        public ObbdMap CopyTo(string to, bool replace = false, ObbdMap at = null)
        {
            var body = new ObbdMap { { "to", to }, { "replace", replace } };
            if (at != null)
                body.Add("at", at);
            // The answer has the epoch of the copy, so it must not be taken for this scene's.
            return Send("POST", "/copy", body, true, null, false, false, null, null).Map;
        }

        /// <summary>The scene as lines, for `Import`.</summary>
        public string Export(string which = null)
        {
            return (string)Send("GET", "/export" + Asked(which), null, false, Epoch, false, false, null, null, "Accept", Sender.LinesType).Value;
        }

        /// <summary>Replaces the scene by exported lines.</summary>
        public ObbdMap Import(string lines)
        {
            try
            {
                ObbdMap made = Send("POST", "/import", lines, true, Epoch, false, false, null, null, "Content-Type", Sender.LinesType).Map;
                ForgetIds(); // boxes got new ones
                return made;
            }
            catch (ObbdUnknown)
            {
                ForgetIds(); // it may have been made
                throw;
            }
        }

        /// <summary>
        /// Follows the scene, over breaks and restarts of the daemon, until it is deleted. `which` is more of the query string,
        /// as "prefix=ann&amp;include=pose". `silenceMs` is how long the connection may be silent before it counts as broken.
        /// </summary>
        public ObbdEvents Follow(ObbdTopics topics = ObbdTopics.Collisions, string which = null, int silenceMs = ObbdEvents.SilenceMs)
        {
            return new ObbdEvents(this, topics, which, silenceMs);
        }

        // ---- Rules ----------------------------------------------------------------------------------

        /// <summary>Notes the epoch of an array of ids: an old array must not name boxes of another epoch.</summary>
        uint[] Give(uint[] ids)
        {
            given.Remove(ids);
            given.Add(ids, Epoch);
            return ids;
        }

        internal string EpochOf(uint[] ids)
        {
            return ids != null && given.TryGetValue(ids, out string epoch) ? epoch : Epoch;
        }

        /// <summary>
        /// Notes an id that was told. One that needs more than 32 bits has no place in arrays, and stays unknown.
        /// </summary>
        internal void Note(string name, object id)
        {
            Forget(name);
            double told = Values.IsNumber(id) ? Convert.ToDouble(id) : 0;
            if (!(told >= 1 && told <= uint.MaxValue))
                return;
            var number = (uint)told;
            known[name] = number;
            named[number] = name;
            IsLost = false;
        }

        internal void Forget(string name)
        {
            if (!known.TryGetValue(name, out uint id))
                return;
            known.Remove(name);
            named.Remove(id);
        }

        void ForgetIds()
        {
            known.Clear();
            named.Clear();
        }

        void Forget()
        {
            ForgetIds();
            Epoch = "";
        }

        /// <summary>
        /// Forgets what was known in the epoch, and lets the boxes be put again; once, whoever notices it.
        /// </summary>
        internal void Lose(string epoch)
        {
            if (epoch == Epoch)
            {
                Forget();
                IsLost = owed = true;
            }
            if (Owes)
                PutAgain();
        }

        /// <summary>Is `Lost` to be raised before the next request? Not within its handlers.</summary>
        internal bool Owes { get { return owed && !putting; } }

        /// <summary>Raises `Lost`. If a handler throws, it is raised again by the next call.</summary>
        internal void PutAgain()
        {
            Forget();
            putting = true;
            owed = false; // it is owed again if the scene is lost meanwhile
            Action<ObbdScene> lost = Lost;
            try
            {
                if (lost != null)
                    lost(this);
            }
            catch
            {
                owed = true;
                throw;
            }
            finally
            {
                putting = false;
            }
        }

        internal bool HearsLost { get { return Lost != null; } }

        /// <summary>
        /// What a problem means to the scene: ids of an epoch that is over are lost. `deletes`: no scene need be there.
        /// </summary>
        internal ObbdException Meaning(ObbdException failure, string epoch, bool deletes = false)
        {
            if (string.IsNullOrEmpty(epoch) || !(failure is ObbdProblem problem)
                || (problem.Type != "/problems/epoch" && (deletes || problem.Type != NoScene)))
                return failure;
            Lose(epoch);
            return new ObbdLost(problem);
        }

        /// <summary>Takes the epoch of the first answer.</summary>
        internal void NoteEpoch(IObbdCall call)
        {
            if (Epoch.Length == 0)
                Epoch = call.Header(EpochHeader) ?? "";
        }

        /// <summary>
        /// Every request names the epoch in which its ids and revisions were given; null: none, and none is noted.
        /// </summary>
        ObbdReply Send(string method, string rest, object body, bool changes, string epoch, bool typed, bool again,
            int? timeout, int? retries, string header = null, string value = null)
        {
            bool deletes = method == "DELETE";
            if (Owes && !deletes && epoch != null)
            {
                PutAgain();
                throw ObbdLost.OfIds(Name);
            }
            Exchange exchange = Sender.Rent();
            try
            {
                exchange.Prepare(method, Path + rest);
                if (!string.IsNullOrEmpty(epoch))
                    exchange.Request.Set(IfEpoch, epoch);
                Sender.Write(exchange.Request, body, typed || Values.NeedsCbor(body));
                if (header != null)
                    exchange.Request.Set(header, value);
                ObbdReply reply = Sender.Answer(exchange, changes, again, timeout, retries);
                if (epoch != null && epoch.Length == 0)
                    NoteEpoch(exchange.Call);
                return reply;
            }
            catch (ObbdProblem problem)
            {
                ObbdException meaning = Meaning(problem, epoch, deletes);
                if (meaning == problem)
                    throw;
                throw meaning;
            }
            finally
            {
                Sender.Return(exchange);
            }
        }

        ObbdMap Call(string method, string rest, object body = null)
        {
            return Send(method, rest, body, method != "GET", Epoch, false, false, null, null).Map;
        }

        /// <summary>The parts of a query string that are given.</summary>
        static string Joined(params string[] parts)
        {
            return string.Join("&", Array.FindAll(parts, part => !string.IsNullOrEmpty(part)));
        }

        static string Asked(params string[] parts)
        {
            string joined = Joined(parts);
            return joined.Length == 0 ? "" : "?" + joined;
        }

        static string BoxPath(string name)
        {
            return "/boxes/" + Uri.EscapeDataString(name);
        }

        IEnumerable<ObbdMap> Pages(string rest, string members, string which)
        {
            string cursor = "";
            while (cursor != null)
            {
                ObbdMap page = Call("GET", rest + Asked(which, cursor));
                foreach (object member in page.List(members))
                    yield return (ObbdMap)member;
                cursor = page.Text("cursor");
                if (cursor != null)
                    cursor = "cursor=" + Uri.EscapeDataString(cursor);
            }
        }
    }
}
