using System;
using System.Collections.Generic;

namespace Obbd
{
    /// <summary>
    /// Builds commits, sends them and reads their answers, in memory that it keeps: a tick of poses and queries allocates
    /// nothing. `Send` empties the builder for the next commit; the answer stays until the next `Send`. A commit with a time
    /// and moves is a tick, and is sent once; others have an id, by which the scene knows them again, and are sent again by
    /// the rules. It is for scenes of three dimensions.
    /// </summary>
    public sealed class ObbdTick
    {
        readonly ObbdScene scene;
        readonly Exchange exchange;
        readonly TickAnswer answer;
        readonly CborWriter puts = new CborWriter(256), removes = new CborWriter(64), moves = new CborWriter(256);
        readonly CborWriter turns = new CborWriter(64), frames = new CborWriter(64), queries;
        readonly CborWriter ids, centers, rotations; // the columns of poses
        int putCount, removeCount, moveCount, turnCount, frameCount, queryCount, poseCount;
        bool doubles, withRotations;
        int members, queryAt; // of the query that is being written
        double time = double.NaN;
        string epoch = "", sentEpoch = "";
        int sentRetries;
        bool sentRemoves;
        bool stale; // poses by ids of a scene that was lost
        bool inColumns; // the boxes that are put

        internal ObbdTick(ObbdScene scene, int poses, int rays)
        {
            this.scene = scene;
            exchange = new Exchange(scene.Sender, checked(1024 + 64 * poses + 512 * rays), checked(4096 + 512 * rays));
            answer = new TickAnswer(rays);
            queries = new CborWriter(checked(256 + 512 * rays));
            ids = new CborWriter(checked(64 + 4 * poses));
            centers = new CborWriter(checked(64 + 24 * poses));
            rotations = new CborWriter(checked(64 + 32 * poses));
            Begin();
        }

        // ---- The commit -----------------------------------------------------------------------------

        /// <summary>
        /// Empties the builder. The time is that of the scene's clock; without one, the scene keeps its time.
        /// </summary>
        public void Begin(double time = double.NaN)
        {
            puts.Size = removes.Size = moves.Size = turns.Size = frames.Size = queries.Size = 0;
            ids.Size = centers.Size = rotations.Size = 0;
            putCount = removeCount = moveCount = turnCount = frameCount = queryCount = poseCount = 0;
            this.time = time;
            IfRevision = null;
            Id = null;
            IgnoreMissing = Restart = stale = inColumns = false;
            epoch = "";
        }

        /// <summary>
        /// The revision that the scene must have, else nothing is done; null for any. `Begin` and `Send` clear it.
        /// </summary>
        public long? IfRevision { get; set; }

        /// <summary>
        /// The id by which the scene knows the commit again, of at most 64 bytes: one that it has applied is not applied again, and
        /// its answer is `Repeated`. Without one, the client draws one for commits that may be sent again. `Begin` and `Send`
        /// clear it.
        /// </summary>
        public string Id { get; set; }

        /// <summary>
        /// Poses and transforms of boxes that are not there are skipped. `Begin` and `Send` clear it.
        /// </summary>
        public bool IgnoreMissing { get; set; }

        /// <summary>
        /// The scene's clock begins anew at the time of this commit, which may be before that of the last one: for a program that
        /// starts its own clock again. The history before is gone then. `Begin` and `Send` clear it.
        /// </summary>
        public bool Restart { get; set; }

        /// <summary>Milliseconds for the call with all its attempts; null for those of the client.</summary>
        public int? Timeout { get; set; }

        /// <summary>
        /// How often a commit may be sent again; null for the rule: a tick not at all, others as the client says.
        /// </summary>
        public int? Retries { get; set; }

        public void Remove(string name)
        {
            removes.Text(name);
            removeCount++;
        }

        public void Put(string name, ObbdBox box)
        {
            if (inColumns)
                throw new InvalidOperationException("a commit puts boxes one by one or in columns; this one puts columns");
            puts.Text(name);
            Write(puts, box);
            putCount++;
        }

        /// <summary>
        /// Puts boxes in columns, each with a name of its own. The answer tells the ids of all of them; without columns it tells
        /// those of new boxes only. A commit puts columns once, or boxes one by one. It allocates.
        /// </summary>
        public void Put(IList<string> names, IList<ObbdBox> boxes)
        {
            if (names.Count != boxes.Count)
                throw new ArgumentException("found " + names.Count + " names of " + boxes.Count + " boxes; each has one");
            if (putCount > 0)
                throw new InvalidOperationException("a commit puts boxes one by one or in columns, and columns once; this one puts some");
            if (names.Count == 0)
                return;
            puts.Value(ObbdBox.Columns(names, boxes));
            putCount = names.Count;
            inColumns = true;
        }

        /// <summary>Moves a box by its name. `teleport`: shots into the past see no way between its poses.</summary>
        public void Pose(string name, ObbdVector center, ObbdRotation rotation = default(ObbdRotation), bool teleport = false)
        {
            if (poseCount > 0)
                throw new InvalidOperationException("a commit has poses by name or by ids; this one has poses by ids");
            Move(moves, name, center, rotation, teleport);
            moveCount++;
        }

        /// <summary>Makes or moves a frame, and all boxes that stand in it.</summary>
        public void Frame(string name, ObbdVector center, ObbdRotation rotation = default(ObbdRotation), bool teleport = false)
        {
            Move(frames, name, center, rotation, teleport);
            frameCount++;
        }

        static void Move(CborWriter to, string name, ObbdVector center, ObbdRotation rotation, bool teleport)
        {
            to.Text(name);
            to.Map(1 + (rotation.IsStated ? 1 : 0) + (teleport ? 1 : 0));
            to.Text("center");
            to.Vector(center);
            if (rotation.IsStated)
            {
                to.Text("rotation");
                to.Rotation(rotation);
            }
            if (teleport)
            {
                to.Text("teleport");
                to.Bool(true);
            }
        }

        /// <summary>
        /// Moves n boxes: 3n numbers of centres and 4n of rotations, which may be null. They are copied. `owner` is the array of
        /// `Ids` from which the ids are: if it is of another epoch, they are refused. Without it, they are taken for ids of now.
        /// </summary>
        public unsafe void Poses(uint* ids, float* centers, float* rotations, int n, uint[] owner = null)
        {
            Poses(ids, centers, rotations, n, false, scene.EpochOf(owner));
        }

        public unsafe void Poses(uint* ids, double* centers, double* rotations, int n, uint[] owner = null)
        {
            Poses(ids, centers, rotations, n, true, scene.EpochOf(owner));
        }

        /// <summary>
        /// The same with arrays, whose lengths say how many boxes. Ids that are of another epoch are refused.
        /// </summary>
        public unsafe void Poses(uint[] ids, float[] centers, float[] rotations = null)
        {
            Check(ids, centers.Length, rotations == null ? -1 : rotations.Length);
            fixed (uint* i = ids)
            fixed (float* c = centers, r = rotations)
                Poses(i, c, r, ids.Length, false, scene.EpochOf(ids));
        }

        public unsafe void Poses(uint[] ids, double[] centers, double[] rotations = null)
        {
            Check(ids, centers.Length, rotations == null ? -1 : rotations.Length);
            fixed (uint* i = ids)
            fixed (double* c = centers, r = rotations)
                Poses(i, c, r, ids.Length, true, scene.EpochOf(ids));
        }

        void Check(uint[] ids, int centers, int rotations)
        {
            if (centers != 3L * ids.Length || (rotations >= 0 && rotations != 4L * ids.Length))
                throw new ArgumentException("found " + ids.Length + " ids, " + centers + " numbers of centres and " + Math.Max(rotations, 0)
                    + " of rotations; there are 3 and 4 for each id, or no rotations");
        }

        unsafe void Poses(uint* ids, void* centers, void* rotations, int n, bool doubles, string given)
        {
            if (n == 0)
                return;
            if (moveCount > 0)
                throw new InvalidOperationException("a commit has poses by name or by ids; this one has poses by name");
            if (poseCount > 0 && (this.doubles != doubles || withRotations != (rotations != null)))
                throw new InvalidOperationException("all poses of a commit are floats or all are doubles, and all or none have rotations");
            this.doubles = doubles;
            withRotations = rotations != null;
            stale |= scene.IsLost;
            if (poseCount == 0 || epoch == scene.Epoch)
                epoch = given;
            int width = doubles ? 8 : 4;
            this.ids.Raw(ids, checked(4 * n));
            this.centers.Raw(centers, checked(3 * width * n));
            if (withRotations)
                this.rotations.Raw(rotations, checked(4 * width * n));
            poseCount += n;
        }

        /// <summary>
        /// Changes a box by what is stated: moves it by a vector, turns it around an axis, scales it; in the world, or along its
        /// own axes. A commit transforms a box once.
        /// </summary>
        public void Transform(string name, ObbdVector? translate = null, ObbdVector? axis = null, double degrees = 0,
            ObbdVector? scale = null, bool local = false)
        {
            turns.Text(name);
            turns.Map((translate == null ? 0 : 1) + (axis == null ? 0 : 1) + (scale == null ? 0 : 1) + (local ? 1 : 0));
            Member(turns, "translate", translate);
            if (axis != null)
            {
                turns.Text("rotate");
                turns.Map(2);
                Member(turns, "axis", axis);
                turns.Text("degrees");
                turns.Double(degrees);
            }
            Member(turns, "scale", scale);
            if (local)
                Member(turns, "space", "local");
            turnCount++;
        }

        static void Member(CborWriter to, string name, ObbdVector? value)
        {
            if (value == null)
                return;
            to.Text(name);
            to.Vector(value.Value);
        }

        static void Write(CborWriter to, ObbdBox box)
        {
            to.Map(2 + (box.Rotation.IsStated ? 1 : 0) + (box.Entity != null ? 1 : 0) + (box.Frame != null ? 1 : 0)
                + (box.Category != null ? 1 : 0) + (box.Mask != null ? 1 : 0) + (box.Group != 0 ? 1 : 0) + (box.Ttl != 0 ? 1 : 0));
            to.Text("center");
            to.Vector(box.Center);
            to.Text("half_extents");
            to.Vector(box.HalfExtents);
            if (box.Rotation.IsStated)
            {
                to.Text("rotation");
                to.Rotation(box.Rotation);
            }
            Member(to, "entity", box.Entity);
            Member(to, "frame", box.Frame);
            Member(to, "category", box.Category);
            Member(to, "mask", box.Mask);
            if (box.Group != 0)
            {
                to.Text("group");
                to.Whole(box.Group);
            }
            if (box.Ttl != 0)
            {
                to.Text("ttl");
                to.Double(box.Ttl);
            }
        }

        static void Member(CborWriter to, string name, string value)
        {
            if (value == null)
                return;
            to.Text(name);
            to.Text(value);
        }

        static void Member(CborWriter to, string name, uint? value)
        {
            if (value == null)
                return;
            to.Text(name);
            to.Whole(value.Value);
        }

        // ---- Queries: each gives its number in the commit -------------------------------------------

        /// <summary>
        /// What does a ray hit? `at` is a time, or the nearest one that the history has; NaN for the present.
        /// </summary>
        public int Ray(ObbdRay ray, double at = double.NaN, string exceptEntity = null)
        {
            var ask = new ObbdAsk { ExceptEntity = exceptEntity };
            if (!double.IsNaN(at))
                ask.At = ObbdAt.Time(at);
            return Ray(ref ray, ref ask);
        }

        public int Ray(ObbdRay ray, ObbdAsk ask)
        {
            return Ray(ref ray, ref ask);
        }

        int Ray(ref ObbdRay ray, ref ObbdAsk ask)
        {
            Open("ray");
            Member("rays");
            queries.List(1);
            queries.Map(ray.MaxDistance != 0 ? 3 : 2);
            queries.Text("origin");
            queries.Vector(ray.Origin);
            queries.Text("direction");
            queries.Vector(ray.Direction);
            if (ray.MaxDistance != 0)
            {
                queries.Text("max_distance");
                queries.Double(ray.MaxDistance);
            }
            return Close(ref ask, true);
        }

        /// <summary>
        /// What do the first n rays of an array hit? Results are numbered as the rays. With `times`, each ray is judged at its
        /// own, and `ask.At` states none. If some rays have a `MaxDistance`, those without one end at 1e9.
        /// </summary>
        public int Rays(ObbdRay[] rays, int n, ObbdAsk ask = default(ObbdAsk), double[] times = null)
        {
            bool ends = false;
            for (int i = 0; i < n; i++)
                ends |= rays[i].MaxDistance != 0;
            Open("ray");
            Member("rays");
            queries.Map(2 + (ends ? 1 : 0) + (times != null ? 1 : 0));
            Columns(rays, n, ends);
            if (times != null)
            {
                Times(times, n);
                ask.At = new ObbdAt { Member = "times", Clamp = true, WholeTicks = ask.At.WholeTicks };
            }
            return Close(ref ask, true);
        }

        /// <summary>What does a box hit on its way? Its hits have a fraction of the motion.</summary>
        public int Sweep(ObbdBox box, ObbdVector motion, ObbdAsk ask = default(ObbdAsk))
        {
            OpenSweep();
            Write(queries, box);
            return CloseSweep(motion, ref ask);
        }

        /// <summary>What does a box of the scene hit on its way?</summary>
        public int Sweep(uint id, ObbdVector motion, ObbdAsk ask = default(ObbdAsk))
        {
            OpenSweep();
            queries.Whole(id);
            return CloseSweep(motion, ref ask);
        }

        void OpenSweep()
        {
            Open("sweep");
            Member("sweeps");
            queries.List(1);
            queries.Map(2);
            queries.Text("box");
        }

        int CloseSweep(ObbdVector motion, ref ObbdAsk ask)
        {
            queries.Text("motion");
            queries.Vector(motion);
            return Close(ref ask, true);
        }

        /// <summary>Which boxes does this box overlap?</summary>
        public int Overlap(ObbdBox box, ObbdAsk ask = default(ObbdAsk))
        {
            OpenShape();
            Write(queries, box);
            return Close(ref ask, false);
        }

        /// <summary>Which boxes does this box of the scene overlap?</summary>
        public int Overlap(uint id, ObbdAsk ask = default(ObbdAsk))
        {
            OpenShape();
            queries.Whole(id);
            return Close(ref ask, false);
        }

        public int OverlapSphere(ObbdVector center, double radius, ObbdAsk ask = default(ObbdAsk))
        {
            OpenShape();
            queries.Map(1);
            queries.Text("sphere");
            queries.Map(2);
            queries.Text("center");
            queries.Vector(center);
            queries.Text("radius");
            queries.Double(radius);
            return Close(ref ask, false);
        }

        public int OverlapCapsule(ObbdVector a, ObbdVector b, double radius, ObbdAsk ask = default(ObbdAsk))
        {
            OpenShape();
            queries.Map(1);
            queries.Text("capsule");
            queries.Map(3);
            queries.Text("a");
            queries.Vector(a);
            queries.Text("b");
            queries.Vector(b);
            queries.Text("radius");
            queries.Double(radius);
            return Close(ref ask, false);
        }

        /// <summary>
        /// Which boxes does a camera see? The matrix is a view-projection in columns, with z in -1 to 1.
        /// </summary>
        public int OverlapFrustum(double[] matrix, ObbdAsk ask = default(ObbdAsk))
        {
            if (matrix.Length != 16)
                throw new ArgumentException("found " + matrix.Length + " numbers; a matrix has 16");
            OpenShape();
            queries.Map(1);
            queries.Text("frustum");
            queries.List(16);
            for (int i = 0; i < 16; i++)
                queries.Double(matrix[i]);
            return Close(ref ask, false);
        }

        void OpenShape()
        {
            Open("overlap");
            Member("shapes");
            queries.List(1);
        }

        /// <summary>Which boxes hold a point?</summary>
        public int Point(ObbdVector point, ObbdAsk ask = default(ObbdAsk))
        {
            Open("point");
            Member("points");
            queries.List(1);
            queries.Vector(point);
            return Close(ref ask, false);
        }

        /// <summary>Which boxes are nearest to a point, and not beyond `maxDistance` unless that is 0?</summary>
        public int Nearest(ObbdVector point, int k = 1, double maxDistance = 0, ObbdAsk ask = default(ObbdAsk))
        {
            Open("nearest");
            Member("points");
            queries.List(1);
            queries.Vector(point);
            Member("k");
            queries.Whole(k);
            if (maxDistance != 0)
            {
                Member("max_distance");
                queries.Double(maxDistance);
            }
            return Close(ref ask, false);
        }

        /// <summary>Which of these pairs overlap? The ids of pair i stand at 2i and 2i + 1.</summary>
        public unsafe int Pairs(uint[] ids, int pairs, ObbdAsk ask = default(ObbdAsk))
        {
            if (pairs < 0 || 2L * pairs > ids.Length)
                throw new ArgumentException("found " + ids.Length + " ids; " + pairs + " pairs have two each");
            Open("pairs");
            Member("pairs");
            queries.Typed(CborWriter.TagIds, 8 * pairs);
            fixed (uint* from = ids)
                queries.Raw(from, 8 * pairs);
            return Close(ref ask, false);
        }

        /// <summary>Which boxes of the scene overlap each other?</summary>
        public int AllPairs(ObbdAsk ask = default(ObbdAsk))
        {
            Open("all-pairs");
            return Close(ref ask, false);
        }

        /// <summary>Any query of the contract, with its `kind`; `Value` has its answer. It allocates.</summary>
        public int Query(ObbdMap query)
        {
            queries.Value(query);
            return queryCount++;
        }

        void Open(string kind)
        {
            queryAt = queries.Size;
            queries.Byte(0);
            members = 0;
            Member("kind");
            queries.Text(kind);
        }

        void Member(string name)
        {
            queries.Text(name);
            members++;
        }

        /// <summary>
        /// Begins a column of so many doubles, and gives where the first of their bytes stands. The caller writes them.
        /// </summary>
        int Column(string name, int numbers)
        {
            queries.Text(name);
            int size = checked(8 * numbers), at;
            queries.Typed(CborWriter.TagDoubles, size);
            queries.Reserve(size);
            at = queries.Size;
            queries.Size += size;
            return at;
        }

        unsafe void Columns(ObbdRay[] rays, int n, bool ends)
        {
            int origins = Column("origins", 3 * n), directions = Column("directions", 3 * n);
            int distances = ends ? Column("max_distances", n) : 0;
            fixed (byte* to = queries.Bytes)
                for (int i = 0; i < n; i++)
                {
                    CborWriter.LittleEndian(to + origins + 24 * i, rays[i].Origin);
                    CborWriter.LittleEndian(to + directions + 24 * i, rays[i].Direction);
                    if (ends)
                        CborWriter.LittleEndian(to + distances + 8 * i, rays[i].MaxDistance != 0 ? rays[i].MaxDistance : 1e9);
                }
        }

        unsafe void Times(double[] times, int n)
        {
            int column = Column("times", n);
            fixed (byte* to = queries.Bytes)
                for (int i = 0; i < n; i++)
                    CborWriter.LittleEndian(to + column + 8 * i, times[i]);
        }

        int Close(ref ObbdAsk ask, bool hasFirst)
        {
            bool first = hasFirst && ask.Mode <= ObbdMode.Any;
            Member(first ? "columns" : "by");
            if (first)
                queries.Bool(true);
            else
                queries.Text("id");
            if (hasFirst && ask.Mode != ObbdMode.Closest)
            {
                Member("mode");
                queries.Text(ask.Mode == ObbdMode.Any ? "any" : ask.Mode == ObbdMode.All ? "all" : "closest_per_entity");
            }
            if (ask.At.Member != null)
            {
                Member("at");
                WriteAt(ref ask.At);
            }
            WriteFilter(ref ask);
            if (ask.Margin != 0)
            {
                Member("margin");
                queries.Double(ask.Margin);
            }
            if (ask.Limit != 0)
            {
                Member("limit");
                queries.Whole(ask.Limit);
            }
            if (ask.Tag != null)
            {
                Member("tag");
                queries.Text(ask.Tag);
            }
            if (ask.Unrecorded)
            {
                Member("record");
                queries.Bool(false);
            }
            if (ask.Fresh)
            {
                Member("fresh");
                queries.Bool(true);
            }
            queries.Bytes[queryAt] = (byte)(5 << 5 | members);
            return queryCount++;
        }

        void WriteAt(ref ObbdAt at)
        {
            bool named = at.Member != "times";
            queries.Map((named ? 1 : 0) + (at.Clamp ? 1 : 0) + (at.WholeTicks ? 1 : 0));
            if (named)
            {
                queries.Text(at.Member);
                queries.Double(at.Value);
            }
            if (at.Clamp)
            {
                queries.Text("clamp");
                queries.Bool(true);
            }
            if (at.WholeTicks)
            {
                queries.Text("interpolate");
                queries.Bool(false);
            }
        }

        void WriteFilter(ref ObbdAsk ask)
        {
            int n = (ask.ExceptEntity != null ? 1 : 0) + (ask.Except != null ? 1 : 0) + (ask.Prefix != null ? 1 : 0)
                + (ask.Category != null ? 1 : 0) + (ask.Mask != null ? 1 : 0);
            if (n == 0)
                return;
            Member("filter");
            queries.Map(n);
            if (ask.ExceptEntity != null)
            {
                queries.Text("exclude_entities");
                queries.List(1);
                queries.Text(ask.ExceptEntity);
            }
            if (ask.Except != null)
            {
                queries.Text("exclude");
                queries.List(ask.Except.Length);
                for (int i = 0; i < ask.Except.Length; i++)
                    queries.Whole(ask.Except[i]);
            }
            Member(queries, "prefix", ask.Prefix);
            Member(queries, "category", ask.Category);
            Member(queries, "mask", ask.Mask);
        }

        // ---- Sending --------------------------------------------------------------------------------

        /// <summary>Was the commit sent, and is its answer still to come?</summary>
        public bool Busy { get; private set; }

        /// <summary>Sends the commit, and does not wait for the answer. The builder is empty then.</summary>
        public void Send()
        {
            if (Busy)
                throw new InvalidOperationException("the commit before is not answered: call TryFinish until it is");
            bool changes = !double.IsNaN(time) || removeCount + frameCount + putCount + moveCount + poseCount + turnCount > 0;
            bool tick = !double.IsNaN(time) && moveCount + poseCount + frameCount > 0;
            sentRetries = Retries ?? (tick ? 0 : scene.Sender.Retries);
            string id = Id ?? (changes && sentRetries > 0 ? ObbdScene.NewId() : null);
            sentRemoves = removeCount > 0;
            sentEpoch = poseCount > 0 ? epoch : scene.Epoch;
            Problem = null;
            answer.Clear();
            exchange.Prepare("POST", scene.CommitPath);
            exchange.Request.HasBody = true;
            exchange.Request.Set("Accept", Sender.Cbor);
            exchange.Request.Set("Content-Type", Sender.Cbor);
            if (sentEpoch.Length > 0)
                exchange.Request.Set(ObbdScene.IfEpoch, sentEpoch);
            Write(exchange.Request.Body, id);
            bool refuse = stale || scene.Owes;
            Begin();
            if (refuse)
            {
                Problem = ObbdLost.OfIds(scene.Name);
                if (scene.Owes)
                    scene.PutAgain(); // whose handlers may throw
                return;
            }
            exchange.Begin(changes, id != null, Timeout, sentRetries);
            Busy = true;
            TryFinish();
        }

        static void Section(CborWriter to, string name, CborWriter section, int members, bool map)
        {
            if (members == 0)
                return;
            to.Text(name);
            if (map)
                to.Map(members);
            else
                to.List(members);
            to.Raw(section);
        }

        void Write(CborWriter to, string id)
        {
            to.Map((double.IsNaN(time) ? 0 : 1) + (id == null ? 0 : 1) + (IfRevision == null ? 0 : 1) + (IgnoreMissing ? 1 : 0) + (Restart ? 1 : 0)
                + (removeCount > 0 ? 1 : 0) + (frameCount > 0 ? 1 : 0) + (putCount > 0 ? 1 : 0) + (moveCount + poseCount > 0 ? 1 : 0)
                + (turnCount > 0 ? 1 : 0) + (queryCount > 0 ? 1 : 0));
            if (!double.IsNaN(time))
            {
                to.Text("time");
                to.Double(time);
            }
            Member(to, "id", id);
            if (IfRevision != null)
            {
                to.Text("if_revision");
                to.Whole(IfRevision.Value);
            }
            if (IgnoreMissing)
            {
                to.Text("ignore_missing");
                to.Bool(true);
            }
            if (Restart)
            {
                to.Text("restart");
                to.Bool(true);
            }
            Section(to, "remove", removes, removeCount, false);
            Section(to, "frames", frames, frameCount, true);
            if (inColumns)
            {
                to.Text("put");
                to.Raw(puts);
            }
            else
                Section(to, "put", puts, putCount, true);
            Section(to, "pose", moves, moveCount, true);
            if (poseCount > 0)
            {
                to.Text("pose");
                to.Map(withRotations ? 3 : 2);
                Typed(to, "ids", CborWriter.TagIds, ids);
                int tag = doubles ? CborWriter.TagDoubles : CborWriter.TagFloats;
                Typed(to, "centers", tag, centers);
                if (withRotations)
                    Typed(to, "rotations", tag, rotations);
            }
            Section(to, "transform", turns, turnCount, true);
            Section(to, "queries", queries, queryCount, false);
        }

        static void Typed(CborWriter to, string name, int tag, CborWriter column)
        {
            to.Text(name);
            to.Typed(tag, column.Size);
            to.Raw(column);
        }

        /// <summary>
        /// Goes on without waiting; true if the answer is there, or a problem. Call it once a frame: attempts that the rules
        /// allow are made here, too.
        /// </summary>
        public bool TryFinish(int waitMs = 0)
        {
            if (!Busy)
                return true;
            long until = Clock.After(waitMs);
            do
            {
                if (!exchange.Step(Clock.Until(until)))
                    return false;
            } while (exchange.Failure == null && !TryRead());
            Busy = false;
            if (exchange.Failure == null)
                return true;
            Problem = exchange.Failure;
            Problem = scene.Meaning(exchange.Failure, sentEpoch); // which may raise `Lost`, whose handlers may throw
            return true;
        }

        /// <summary>Reads the answer; false if it is none, and the exchange goes on or has failed then.</summary>
        bool TryRead()
        {
            try
            {
                Problem = answer.Read(exchange, scene, sentRemoves);
                return true;
            }
            catch (FormatException error)
            {
                answer.Clear();
                exchange.Unreadable(error);
                return false;
            }
        }

        /// <summary>
        /// Sends the commit and waits for its answer. Throws the problem if there is one. Queries that were not answered behind
        /// the commit are asked again by the rules. The ids of all boxes that were put are known then, also of those that were
        /// there before: those that the answer does not tell are asked for. If that fails, these stay as they were.
        /// </summary>
        public void SendAndWait()
        {
            Send();
            TryFinish(-1);
            if (Problem is ObbdUnanswered && sentRetries > 0)
            {
                answer.Replace(scene.Answered(answer.Queries(), answer.Whole(), Timeout, sentRetries));
                Problem = null;
            }
            if (Problem != null)
                throw Problem;
            scene.LearnUntold(answer.Untold());
        }

        // ---- The answer, of the last commit that was sent --------------------------------------------

        /// <summary>
        /// Why there is no answer; null if there is one. With an ObbdUnanswered the commit was made, and its numbers and the
        /// results of its other queries are there.
        /// </summary>
        public ObbdException Problem { get; private set; }

        /// <summary>The revision of the state that the commit made; 0 without an answer.</summary>
        public long Revision { get { return answer.Revision; } }
        public double Time { get { return answer.Time; } }
        public int Posed { get { return answer.Posed; } }
        public int Removed { get { return answer.Removed; } }
        /// <summary>The commit was applied before, and the answer says what it did then.</summary>
        public bool Repeated { get { return answer.Repeated; } }

        /// <summary>The id of a box that was put or learned. Throws KeyNotFoundException.</summary>
        public uint IdOf(string name)
        {
            return scene.IdOf(name);
        }

        /// <summary>The first hit of a ray or a sweep, or the nearest box; false if there is none.</summary>
        public bool Hit(int query, out ObbdHit hit)
        {
            return answer.Hit(query, 0, 0, out hit);
        }

        /// <summary>
        /// A hit of an item of the query, as of a ray of `Rays`. `index` counts the hits of one item.
        /// </summary>
        public bool Hit(int query, int item, out ObbdHit hit, int index = 0)
        {
            return answer.Hit(query, item, index, out hit);
        }

        /// <summary>How many hits, boxes or, of all pairs, pairs the answer counts.</summary>
        public long Count(int query, int item = 0)
        {
            return answer.Count(query, item);
        }

        /// <summary>A box of those that overlap the shape, hold the point, or are nearest; 0 behind the last.</summary>
        public uint Box(int query, int index, int item = 0)
        {
            return answer.Box(query, item, index);
        }

        /// <summary>A pair of `AllPairs`; false behind the last that is listed.</summary>
        public bool Pair(int query, int index, out uint a, out uint b)
        {
            return answer.Pair(query, index, out a, out b);
        }

        /// <summary>Does a pair of `Pairs` overlap? A pair of which a box is missing does not.</summary>
        public bool Overlaps(int query, int pair)
        {
            return answer.Overlaps(query, pair);
        }

        /// <summary>
        /// The state of the past that a query saw; false if it asked the present one. `item` counts rays with times.
        /// </summary>
        public bool Seen(int query, out double time, out bool clamped, int item = 0)
        {
            return answer.Seen(query, item, out time, out clamped);
        }

        /// <summary>The answer to a query, as an object. It allocates.</summary>
        public ObbdMap Value(int query)
        {
            return answer.Value(query);
        }
    }
}
