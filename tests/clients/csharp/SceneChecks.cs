using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Threading;
using Obbd;

/// <summary>Scenes and ticks with the real daemon.</summary>
static partial class Checks
{
    static int scenes;

    static ObbdScene Fresh(ObbdClient client)
    {
        return client.Scene("scene-" + Interlocked.Increment(ref scenes));
    }

    static ObbdClient Other(ObbdMap arguments)
    {
        return new ObbdClient(arguments.Text("url"));
    }

    static ObbdMap CubeMap(double x)
    {
        return Cube(x).ToMap();
    }

    public static object Ids(ObbdClient client, ObbdMap arguments)
    {
        ObbdScene scene = Fresh(client);
        Throws<KeyNotFoundException>(() => scene.Ids(new[] { "a" }), "the id of 'a' is not known");
        ObbdTick tick = scene.NewTick();
        tick.Put("a", Cube(0));
        tick.Put("b", Cube(1.5));
        tick.SendAndWait();
        Same(tick.IdOf("b"), 2u);
        Same(scene.NameOf(2), "b");
        using (ObbdClient another = Other(arguments))
        {
            ObbdScene other = another.Scene(scene.Name);
            ObbdTick again = other.NewTick();
            again.Put("b", Cube(1.5));
            again.Put("d", Cube(30));
            again.SendAndWait();
            Same(again.IdOf("d"), 3u);
            Same(again.IdOf("b"), 2u, "a box that was there before");
            other.Learn(new[] { "a", "nobody" });
            Same(other.IdOf("a"), 1u);
        }
        var many = new ObbdMap();
        for (int i = 0; i < 100; i++)
            many.Add("m" + i, CubeMap(100 + 3 * i));
        scene.Put(many);
        using (ObbdClient another = Other(arguments))
        {
            ObbdScene other = another.Scene(scene.Name);
            other.Put(many); // read by listing
            Same(other.IdOf("m99"), scene.IdOf("m99"));
        }
        using (ObbdClient another = Other(arguments))
        {
            ObbdScene other = another.Scene(scene.Name);
            Same(other.Boxes("prefix=d").Single().Text("name"), "d");
            Same(other.Ids(new[] { "d" })[0], 3u);
            Throws<KeyNotFoundException>(() => other.IdOf("b"));
        }
        tick.Remove("a");
        tick.SendAndWait();
        Same(tick.Removed, 1);
        Throws<KeyNotFoundException>(() => scene.IdOf("a"));
        scene.Commit(new ObbdMap { { "remove", new[] { "b" } } });
        Same(scene.TryIdOf("b", out uint gone), false);
        return null;
    }

    /// <summary>Ids of boxes that another program removed and put again are read by Learn.</summary>
    public static object IdsOfOthers(ObbdClient client, ObbdMap arguments)
    {
        foreach (uint count in new uint[] { 2, 100 }) // few are read one by one, many by listing
        {
            ObbdScene scene = Fresh(client);
            ObbdScene other = Other(arguments).Scene(scene.Name);
            var names = new List<string>();
            var boxes = new ObbdMap();
            for (int i = 0; i < count; i++)
            {
                names.Add("box " + i);
                boxes.Add(names[i], CubeMap(3 * i));
            }
            Action again = () =>
            {
                other.Commit(new ObbdMap { { "remove", names } });
                other.Commit(new ObbdMap { { "put", boxes } });
            };
            scene.Put(boxes);
            Same(scene.IdOf(names[1]), 2u);
            again();
            scene.Learn(names);
            Same(scene.IdOf(names[1]), 2 + count);
            ObbdTick tick = scene.NewTick();
            for (int i = 0; i < count; i++)
                tick.Put(names[i], Cube(3 * i));
            tick.Put("new", Cube(-9));
            tick.SendAndWait();
            Same(scene.IdOf(names[1]), 2 + count);
            Same(scene.NameOf(2 + count), names[1]);
            Same(scene.IdOf("new"), 1 + 2 * count);
            other.Commit(new ObbdMap { { "remove", names.GetRange(1, (int)count - 1) } });
            scene.Learn(names);
            Same(scene.IdOf(names[0]), 1 + count);
            Throws<KeyNotFoundException>(() => scene.IdOf(names[1]), "is not known");
        }
        return null;
    }

    /// <summary>A put whose ids cannot be read behind it has its answer; `guarded` is a daemon where `token` may only write.</summary>
    public static object PutWithoutReading(ObbdClient client, ObbdMap arguments)
    {
        Func<ObbdScene> yard = () => new ObbdClient(arguments.Text("guarded"), new ObbdOptions { Token = arguments.Text("token") }).Scene("yard");
        var boxes = new ObbdMap { { "a", CubeMap(0) } };
        yard().Put(boxes);
        ObbdScene scene = yard();
        Same(scene.Put(boxes).Number("put"), 1.0);
        Throws<KeyNotFoundException>(() => scene.IdOf("a"), "is not known");
        ObbdTick tick = scene.NewTick();
        tick.Put("a", Cube(5));
        tick.Put("b", Cube(9));
        tick.SendAndWait();
        Same(tick.Revision, 2L);
        Same(scene.IdOf("b"), 2u);
        Throws<KeyNotFoundException>(() => scene.IdOf("a"), "is not known");
        Same(Throws<ObbdProblem>(() => scene.Learn(new[] { "a" })).Status, 403);
        return null;
    }

    /// <summary>
    /// An import that is refused leaves the ids as they are, one that was made forgets them, and one that is cut, too: `url` is
    /// a server that answers a put of "a" and cuts the next request.
    /// </summary>
    public static object Imports(ObbdClient client, ObbdMap arguments)
    {
        ObbdScene scene = Fresh(client);
        scene.Put(new ObbdMap { { "a", CubeMap(0) } });
        string lines = scene.Export();
        Same(Throws<ObbdProblem>(() => scene.Import("no lines")).Status, 400);
        Same(scene.IdOf("a"), 1u);
        scene.Import(lines);
        Throws<KeyNotFoundException>(() => scene.IdOf("a"));
        ObbdScene cut = Other(arguments).Scene("yard");
        cut.Put(new ObbdMap { { "a", CubeMap(0) } });
        Same(cut.IdOf("a"), 5u);
        Throws<ObbdUnknown>(() => cut.Import(lines));
        Throws<KeyNotFoundException>(() => cut.IdOf("a"));
        return null;
    }

    /// <summary>Every kind of query of a tick, each with what it must find.</summary>
    public static object Queries(ObbdClient client, ObbdMap arguments)
    {
        ObbdTick tick = Fresh(client).NewTick(10, 4);
        tick.Put("a", Cube(0, "ann"));
        tick.Put("b", Cube(1.5));
        tick.Put("far", new ObbdBox(V(9, 0, 0), V(1, 1, 1)) { Category = 4, Mask = 7, Group = -2, Rotation = new ObbdRotation(0, 0, 0, 1) });
        int ray = tick.Ray(new ObbdRay(V(-5, 0, 0), V(1, 0, 0), 100));
        int behind = tick.Ray(new ObbdRay(V(-5, 0, 0), V(1, 0, 0)), exceptEntity: "ann");
        int nothing = tick.Ray(ObbdRay.Between(V(-5, 0, 0), V(-2, 0, 0)));
        int all = tick.Ray(new ObbdRay(V(-5, 0, 0), V(2, 0, 0), 100), new ObbdAsk { Mode = ObbdMode.All });
        int inside = tick.Ray(new ObbdRay(V(9, 0, 0), V(1, 0, 0)), new ObbdAsk { Mode = ObbdMode.ClosestPerEntity });
        int any = tick.Ray(new ObbdRay(V(9, 5, 0), V(0, -1, 0)), new ObbdAsk { Mode = ObbdMode.Any, Tag = "any" });
        var batch = new[] { new ObbdRay(V(0.75, 5, 0), V(0, -1, 0)), new ObbdRay(V(0, 5, 0), V(0, 1, 0), 3), new ObbdRay(V(9, 5, 0), V(0, -1, 0), 50) };
        int rays = tick.Rays(batch, 3);
        int except = tick.Rays(batch, 1, new ObbdAsk { Except = new uint[] { 1 } });
        int sweep = tick.Sweep(new ObbdBox(V(4, 0, 0), V(1, 1, 1)), V(8, 0, 0));
        int swept = tick.Sweep(1, V(16, 0, 0), new ObbdAsk { Mode = ObbdMode.All });
        int box = tick.Overlap(new ObbdBox(V(0.75, 0, 0), V(0.1, 0.1, 0.1)));
        int same = tick.Overlap(1);
        int sphere = tick.OverlapSphere(V(12, 0, 0), 2);
        int capsule = tick.OverlapCapsule(V(0, 3, 0), V(9, 3, 0), 2, new ObbdAsk { Mask = 4 });
        int margin = tick.OverlapSphere(V(12, 0, 0), 1.5, new ObbdAsk { Margin = 1 });
        int point = tick.Point(V(0.75, 0, 0), new ObbdAsk { Prefix = "b" });
        int nearest = tick.Nearest(V(20, 0, 0), 2);
        int beyond = tick.Nearest(V(20, 0, 0), 2, 5);
        int pairs = tick.Pairs(new uint[] { 1, 2, 1, 3 }, 2);
        int everyPair = tick.AllPairs();
        int limited = tick.OverlapSphere(V(0, 0, 0), 50, new ObbdAsk { Limit = 2, Category = 1 });
        int frustum = tick.OverlapFrustum(new double[] { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 });
        int free = tick.Query(new ObbdMap { { "kind", "all-pairs" }, { "count_only", true } });
        tick.SendAndWait();

        Same(tick.Hit(ray, out ObbdHit hit), true);
        Same(hit.Id, 1u);
        Near(hit.Distance, 4);
        Near(hit.Point.X, -1);
        Near(hit.Normal.X, -1);
        Same(tick.Seen(ray, out double time, out bool clamped), false, "it asked the present");
        Same(tick.Hit(behind, out hit), true);
        Same(hit.Id, 2u);
        Near(hit.Distance, 5.5);
        Same(tick.Hit(nothing, out hit), false);
        Same(tick.Count(nothing), 0L);
        Same(tick.Count(all), 3L);
        Same(tick.Hit(all, 0, out hit, 2), true);
        Same(hit.Id, 3u);
        Near(hit.Distance, 13);
        Near(hit.Fraction, 0.13);
        Same(tick.Hit(all, 0, out hit, 3), false);
        Same(tick.Hit(inside, out hit) && hit.Started, true);
        Same(tick.Hit(any, out hit), true);
        Same(hit.Id, 3u);
        Same(tick.Value(any).Text("tag"), "any");
        Same(tick.Hit(rays, 0, out hit) ? hit.Id : 0, 1u);
        Same(tick.Hit(rays, 1, out hit), false);
        Same(tick.Hit(rays, 2, out hit) ? hit.Id : 0, 3u);
        Near(hit.Distance, 4);
        Same(tick.Hit(rays, 3, out hit), false);
        Same(tick.Hit(except, 0, out hit) ? hit.Id : 0, 2u);
        Same(tick.Hit(sweep, out hit) ? hit.Id : 0, 3u);
        Near(hit.Fraction, 3 / 8.0);
        Same(double.IsNaN(hit.Distance), true);
        Same(tick.Count(swept), 2L);
        Same(tick.Hit(swept, 0, out hit) && hit.Started, true, "a and b touch at the start");
        Same(tick.Box(box, 0), 1u);
        Same(tick.Box(box, 1), 2u);
        Same(tick.Box(box, 2), 0u);
        Same(tick.Count(box), 2L);
        Same(tick.Box(same, 0), 2u, "a box of the scene is not its own answer");
        Same(tick.Box(sphere, 0), 3u);
        Same(tick.Count(capsule), 1L);
        Same(tick.Box(capsule, 0), 3u);
        Same(tick.Count(margin), 1L);
        Same(tick.Count(point), 1L);
        Same(tick.Box(point, 0), 2u);
        Same(tick.Count(nearest), 2L);
        Same(tick.Hit(nearest, 0, out hit, 1) ? hit.Id : 0, 2u);
        Near(hit.Distance, 17.5);
        Near(hit.Point.X, 2.5);
        Same(tick.Box(nearest, 0), 3u);
        Same(tick.Count(beyond), 0L);
        Same(tick.Overlaps(pairs, 0), true);
        Same(tick.Overlaps(pairs, 1), false);
        Same(tick.Overlaps(pairs, 0), true, "backwards");
        Same(tick.Count(everyPair), 1L);
        Same(tick.Pair(everyPair, 0, out uint a, out uint b), true);
        Same(a + 10 * b, 21u);
        Same(tick.Pair(everyPair, 1, out a, out b), false);
        Same(tick.Count(limited), 2L);
        Same(tick.Count(frustum), 2L);
        Same(tick.Value(free).Number("count"), 1.0);
        Same(tick.Value(free + 1) == null && !tick.Hit(free + 1, out hit) && !tick.Hit(-1, out hit), true, "no such query");
        return free + 1;
    }

    /// <summary>Numbers that the daemon refuses, with where they stand: a ray without an end is one of 0.</summary>
    public static object WrongDistances(ObbdClient client, ObbdMap arguments)
    {
        ObbdTick tick = Fresh(client).NewTick();
        tick.Put("a", Cube(50));
        tick.SendAndWait();
        foreach (double wrong in new[] { -1, double.NaN, double.NegativeInfinity })
        {
            var rays = new[] { new ObbdRay(V(0, 0, 0), V(1, 0, 0)), new ObbdRay(V(0, 0, 0), V(1, 0, 0), wrong) };
            tick.Ray(rays[1]);
            Same(Throws<ObbdProblem>(tick.SendAndWait).Pointer, "/queries/0/rays/0/max_distance", "" + wrong);
            tick.Rays(rays, 2);
            Same(Throws<ObbdProblem>(tick.SendAndWait).Pointer, "/queries/0/rays/max_distances/1", "" + wrong);
            tick.Nearest(V(0, 0, 0), 1, wrong);
            Same(Throws<ObbdProblem>(tick.SendAndWait).Pointer, "/queries/0/max_distance", "" + wrong);
        }
        tick.Point(V(0, 0, 0), new ObbdAsk { Limit = -1 });
        Same(Throws<ObbdProblem>(tick.SendAndWait).Pointer, "/queries/0/limit");
        int first = tick.Ray(new ObbdRay(V(0, 0, 0), V(1, 0, 0))), second = tick.Nearest(V(0, 0, 0));
        tick.SendAndWait();
        Same(tick.Hit(first, out ObbdHit hit) && tick.Box(second, 0) == 1, true, "none is stated");
        return null;
    }

    /// <summary>Shots into the past, in every way to say when.</summary>
    public static object Times(ObbdClient client, ObbdMap arguments)
    {
        ObbdScene scene = Fresh(client);
        ObbdTick tick = scene.NewTick();
        tick.Begin(0);
        tick.Put("bob", Cube(0));
        tick.SendAndWait();
        uint[] ids = scene.Ids(new[] { "bob" });
        tick.Begin(100);
        tick.Poses(ids, new double[] { 10, 0, 0 }, new double[] { 0, 0, 0, 1 });
        var from = new[] { new ObbdRay(V(0, 0, -5), V(0, 0, 1)), new ObbdRay(V(5, 0, -5), V(0, 0, 1)), new ObbdRay(V(10, 0, -5), V(0, 0, 1)) };
        int half = tick.Ray(from[1], 50);
        int early = tick.Ray(from[0], -900);
        int ago = tick.Ray(from[0], new ObbdAsk { At = ObbdAt.Ago(100) });
        int revision = tick.Ray(from[0], new ObbdAsk { At = ObbdAt.Revision(1) });
        int whole = tick.Ray(from[0], new ObbdAsk { At = ObbdAt.Time(50).WithoutInterpolation() });
        int each = tick.Rays(from, 3, default(ObbdAsk), new double[] { 0, 50, 900 });
        tick.SendAndWait();
        Same(tick.Posed, 1);
        Same(tick.Time, 100.0);
        Same(tick.Revision, 2L);
        Same(tick.Hit(half, out ObbdHit hit), true);
        Same(tick.Seen(half, out double time, out bool clamped), true);
        Near(time, 50);
        Same(clamped, false);
        Same(tick.Hit(early, out hit) && tick.Seen(early, out time, out clamped) && clamped, true);
        Near(time, 0);
        foreach (int query in new[] { ago, revision, whole })
            Same(tick.Hit(query, out hit), true, "query " + query);
        for (int i = 0; i < 3; i++)
        {
            Same(tick.Hit(each, i, out hit), true, "ray " + i);
            Same(tick.Seen(each, out time, out clamped, i), true);
            Near(time, new double[] { 0, 50, 100 }[i]);
            Same(clamped, i == 2);
        }
        tick.Ray(from[0], new ObbdAsk { At = ObbdAt.Time(-900).Exactly() });
        Same(Throws<ObbdProblem>(tick.SendAndWait).Status, 410);
        Same(tick.Hit(0, out hit), false, "no answer, no hit");
        Same(tick.Revision, 0L);
        return null;
    }

    /// <summary>Everything that a tick can change.</summary>
    public static object ChangesOfATick(ObbdClient client, ObbdMap arguments)
    {
        ObbdScene scene = Fresh(client);
        ObbdTick tick = scene.NewTick();
        tick.Frame("rig", V(0, 5, 0));
        tick.Put("head", new ObbdBox(V(0, 1, 0), V(1, 1, 1)) { Frame = "rig", Ttl = 1e6 });
        tick.Put("a", Cube(0));
        tick.Put("b", Cube(5));
        tick.SendAndWait();
        tick.Frame("rig", V(0, 50, 0), teleport: true);
        tick.Pose("a", V(1, 0, 0), new ObbdRotation(0, 0, 1, 0), true);
        tick.Pose("nobody", V(1, 0, 0));
        tick.IgnoreMissing = true;
        tick.IfRevision = tick.Revision;
        tick.Transform("b", translate: V(0, 2, 0), axis: V(0, 0, 1), degrees: 90, scale: V(2, 1, 1), local: true);
        tick.SendAndWait();
        Same(tick.Posed, 1);
        Near(scene.Box("head").Numbers("center")[1], 51);
        Near(scene.Box("a").Numbers("rotation")[2], 1);
        ObbdMap b = scene.Box("b", "aabb");
        Near(b.Numbers("center")[1], 2);
        Near(b.Numbers("half_extents")[0], 2);
        Near(b.Map("aabb").Numbers("max")[1], 4, "turned by 90 degrees");
        tick.Begin(500);
        tick.Pose("b", V(0, 2, 0));
        tick.SendAndWait();
        tick.Begin(20);
        tick.Pose("b", V(0, 2, 0));
        Same(Throws<ObbdProblem>(tick.SendAndWait).Type, "/problems/time-backwards");
        tick.Begin(20);
        tick.Restart = true;
        tick.Pose("b", V(0, 2, 0));
        tick.SendAndWait();
        Same(tick.Time, 20.0);
        Same(tick.Restart, false, "Send clears it");
        tick.IfRevision = 1;
        tick.Transform("b", V(0, 2, 0));
        Same(Throws<ObbdProblem>(tick.SendAndWait).Type, "/problems/revision");
        tick.Put("a", new ObbdBox(V(0, 0, 0), V(1, -1, 1)));
        ObbdProblem problem = Throws<ObbdProblem>(tick.SendAndWait, "(/put/a/half_extents/1)");
        Same(problem.Pointer, "/put/a/half_extents/1");
        tick.Begin();
        Throws<InvalidOperationException>(() =>
        {
            tick.Pose("a", V(0, 0, 0));
            tick.Poses(new uint[] { 1 }, new float[3]);
        }, "poses by name or by ids");
        tick.Begin();
        Throws<InvalidOperationException>(() =>
        {
            tick.Poses(new uint[] { 1 }, new float[3]);
            tick.Poses(new uint[] { 1 }, new double[3]);
        }, "floats");
        Throws<ArgumentException>(() => tick.Poses(new uint[] { 1, 2 }, new float[3]), "found 2 ids, 3 numbers");
        Throws<ArgumentException>(() => tick.Pairs(new uint[] { 1 }, 1), "found 1 ids");
        tick.Begin();
        tick.Poses(scene.Ids(new[] { "a" }), new float[] { 3, 4, 5 });
        tick.Poses(scene.Ids(new[] { "b" }), new float[] { 6, 7, 8 });
        tick.Send();
        Throws<InvalidOperationException>(() =>
        {
            while (tick.Busy)
                tick.Send();
            throw new InvalidOperationException("is not answered"); // the answer was there already
        }, "is not answered");
        while (!tick.TryFinish())
        {
        }
        Same(tick.Problem, null);
        Same(tick.Posed, 2);
        Near(scene.Box("b").Numbers("center")[2], 8);
        return null;
    }

    /// <summary>
    /// 1,000 ticks of poses and rays, sent and read; how many bytes they allocate, and what the fastest took.
    /// </summary>
    public static unsafe object Allocated(ObbdClient client, ObbdMap arguments)
    {
        const int Boxes = 1000, Shots = 64;
        int Ticks = (int)arguments.Number("ticks");
        ObbdScene scene = Fresh(client);
        ObbdTick tick = arguments.Has("little") ? scene.NewTick(1, 1) : scene.NewTick(Boxes, Shots + 5);
        var ids = new uint[Boxes];
        var centers = new float[3 * Boxes];
        var rotations = new float[4 * Boxes];
        for (int i = 0; i < Boxes; i++)
        {
            tick.Put("box-" + i, new ObbdBox(V(3 * i, 0, 0), V(1, 1, 1), "entity-" + i));
            centers[3 * i] = 3 * i;
            rotations[4 * i + 3] = 1;
        }
        tick.SendAndWait();
        for (int i = 0; i < Boxes; i++)
            ids[i] = tick.IdOf("box-" + i);
        var batch = new[] { new ObbdRay(V(0, 0, -5), V(0, 0, 1)), new ObbdRay(V(1500, 0, -5), V(0, 0, 1), 100) };
        var times = new double[2];
        var pairs = new uint[] { 1, 2 };
        long hits = 0, waited = long.MaxValue, worked = long.MaxValue, allocated = 0;
        for (int t = -2; t < Ticks; t++)
        {
            if (t == 0)
            {
                allocated = GC.GetAllocatedBytesForCurrentThread();
                hits = 0;
            }
            long began = Stopwatch.GetTimestamp();
            for (int i = 0; i < Boxes; i++)
                centers[3 * i + 1] = 0.001f * (t & 255);
            tick.Begin(10000 + 16 * t);
            tick.Frame("rig", V(0, 100 + t, 0), new ObbdRotation(0, 0, 0, 1));
            if ((t & 1) == 0)
                tick.Poses(ids, centers, rotations);
            else
                fixed (uint* i = ids)
                fixed (float* c = centers)
                    tick.Poses(i, c, null, Boxes);
            for (int i = 0; i < Shots; i++)
                tick.Ray(new ObbdRay(V(3 * i, 0, -5), V(0, 0, 1), 50), 10000 + 16 * t - 40, "entity-no");
            times[0] = times[1] = 10000 + 16 * t - 20;
            tick.Rays(batch, 2, default(ObbdAsk), times);
            tick.OverlapSphere(V(0, 0, 0), 4, new ObbdAsk { Prefix = "box" });
            tick.Pairs(pairs, 1);
            tick.AllPairs();
            tick.Send();
            long sent = Stopwatch.GetTimestamp();
            if (!tick.TryFinish())
                tick.TryFinish(10000);
            long answered = Stopwatch.GetTimestamp();
            if (tick.Problem != null)
                throw tick.Problem;
            for (int i = 0; i < Shots; i++)
                if (tick.Hit(i, out ObbdHit hit) && hit.Id == ids[i])
                    hits++;
            for (int i = 0; i < 2; i++)
                if (tick.Hit(Shots, i, out ObbdHit hit) && tick.Seen(Shots, out double time, out bool clamped, i) && !clamped)
                    hits++;
            hits += tick.Count(Shots + 1) + tick.Box(Shots + 1, 1) + (tick.Overlaps(Shots + 2, 0) ? 1000 : 0) + tick.Count(Shots + 3);
            waited = Math.Min(waited, answered - sent);
            worked = Math.Min(worked, sent - began + Stopwatch.GetTimestamp() - answered);
        }
        allocated = GC.GetAllocatedBytesForCurrentThread() - allocated;
        double scale = 1e6 / Stopwatch.Frequency;
        return new ObbdMap { { "allocated", allocated }, { "hits", hits }, { "worked_us", worked * scale }, { "waited_us", waited * scale } };
    }

    /// <summary>A scene that was deleted and made again by somebody else.</summary>
    public static object Lost(ObbdClient client, ObbdMap arguments)
    {
        ObbdScene scene = Fresh(client);
        ObbdTick tick = scene.NewTick();
        int lost = 0;
        bool put = true;
        scene.Lost += one =>
        {
            lost++;
            if (put)
                one.Put(new ObbdMap { { "a", CubeMap(0) } });
        };
        scene.Put(new ObbdMap { { "wall", CubeMap(9) }, { "a", CubeMap(0) } });
        uint[] old = scene.Ids(new[] { "a" });
        using (ObbdClient another = Other(arguments))
        {
            ObbdScene elsewhere = another.Scene(scene.Name);
            elsewhere.Delete();
            elsewhere.Put(new ObbdMap { { "c", CubeMap(3) }, { "d", CubeMap(6) } });
            tick.Begin(5);
            tick.Poses(old, new double[] { 1, 0, 0 });
            Throws<ObbdLost>(tick.SendAndWait);
            Same(lost, 1);
            Near(scene.Box("d").Numbers("center")[0], 6, "the pose by an old id moved nothing");
            Same(scene.IdOf("a"), 3u);
            tick.Poses(old, new double[] { 1, 0, 0 });
            Throws<ObbdLost>(tick.SendAndWait);
            Same(lost, 1, "an old array is refused, and nothing is lost once more");
            tick.Poses(scene.Ids(new[] { "a" }), new double[] { 1, 0, 0 });
            tick.SendAndWait();
            put = false;
            elsewhere.Delete();
            Throws<ObbdLost>(() => scene.Query(new ObbdMap { { "kind", "all-pairs" } }));
            Same(lost, 2);
            elsewhere.Put(new ObbdMap { { "c", CubeMap(3) } });
            scene.Info(); // tells the new epoch, and no ids of it
            MoveByPointer(tick);
            ObbdLost refused = Throws<ObbdLost>(tick.SendAndWait, "that was lost");
            Same(refused.Status, 412);
            scene.Learn(new[] { "c" });
            MoveByPointer(tick);
            tick.SendAndWait();
            Same(tick.Posed, 1);
        }
        return null;
    }

    /// <summary>Boxes in columns, with all that a box may state, beside those that state nothing.</summary>
    public static object PutColumns(ObbdClient client, ObbdMap arguments)
    {
        ObbdScene scene = Fresh(client);
        ObbdTick tick = scene.NewTick();
        tick.Frame("rig", V(0, 50, 0));
        tick.Put("b", Cube(7));
        tick.SendAndWait();
        ObbdBox a = Cube(2, "ann");
        a.Rotation = new ObbdRotation(1, 0, 0, 0);
        a.Frame = "rig";
        a.Category = 2;
        a.Mask = 4;
        a.Group = -3;
        a.Ttl = 9;
        ObbdBox plain = Cube(5);
        var elsewhere = new ObbdClient(arguments.Text("url")).Scene(scene.Name); // knows no id
        ObbdTick put = elsewhere.NewTick();
        put.Put(new[] { "a", "b", "names" }, new[] { a, plain, plain });
        Throws<InvalidOperationException>(() => put.Put("c", plain), "this one puts columns");
        Throws<InvalidOperationException>(() => put.Put(new[] { "c" }, new[] { plain }), "and columns once");
        Throws<ArgumentException>(() => put.Put(new[] { "c" }, new ObbdBox[0]), "1 names of 0 boxes");
        put.Send();
        while (!put.TryFinish(10000))
        {
        }
        Same(put.Problem, null, "" + put.Problem);
        Same(elsewhere.IdOf("b"), 1u, "the box that was there before");
        Same(elsewhere.IdOf("a"), 2u);
        Same(elsewhere.NameOf(3), "names");
        ObbdMap box = scene.Box("a");
        Near(box.Numbers("center")[0], 2);
        Near(box.Numbers("rotation")[0], 1);
        Same(box.Text("entity") + " " + box.Text("frame") + " " + box.Number("category") + " " + box.Number("mask") + " " + box.Number("group"), "ann rig 2 4 -3");
        Near(box.Number("ttl"), 9);
        box = scene.Box("names");
        Same(box["entity"] + " " + box["frame"] + box.Number("category") + " " + box.Number("mask") + " " + box.Number("group"), " 1 4294967295 0");
        put.Put("names", plain); // a box of that name is none of columns
        put.Put("d", plain);
        put.SendAndWait();
        Same(elsewhere.IdOf("d"), 4u);
        return null;
    }

    /// <summary>Handlers of `Lost` that fail are run again by the next call, of a tick, too.</summary>
    public static object LostAgain(ObbdClient client, ObbdMap arguments)
    {
        ObbdScene scene = Fresh(client);
        ObbdTick tick = scene.NewTick();
        int lost = 0;
        scene.Lost += one =>
        {
            if (++lost < 4)
                throw new InvalidOperationException("not yet");
            one.Put(new ObbdMap { { "a", CubeMap(0) } });
        };
        scene.Put(new ObbdMap { { "a", CubeMap(0) } });
        using (ObbdClient another = Other(arguments))
            another.Scene(scene.Name).Delete();
        MoveByPointer(tick);
        Throws<InvalidOperationException>(tick.SendAndWait, "not yet");
        Same(tick.Problem is ObbdException, true, "a tick whose handlers fail has no answer");
        MoveByPointer(tick);
        Throws<InvalidOperationException>(tick.SendAndWait, "not yet");
        Throws<InvalidOperationException>(() => scene.Info(), "not yet");
        Same(lost, 3);
        MoveByPointer(tick);
        Throws<ObbdLost>(tick.SendAndWait, "that was lost");
        Same(lost, 4);
        MoveByPointer(tick);
        tick.SendAndWait();
        Same(tick.Posed, 1);
        Same(lost, 4);
        return null;
    }

    static unsafe void MoveByPointer(ObbdTick tick, uint[] owner = null)
    {
        uint id = 1;
        var center = stackalloc double[3];
        center[0] = center[1] = center[2] = 7;
        tick.Poses(&id, center, null, 1, owner);
    }

    public static object PlainCalls(ObbdClient client, ObbdMap arguments)
    {
        ObbdScene scene = Fresh(client);
        Same(scene.Set(new ObbdMap { { "record", 10 } }).Number("record"), 10.0);
        scene.Put(new ObbdMap { { "a", CubeMap(5) }, { "b", Cube(9, "ann") }, { "c/d é", CubeMap(20) } });
        var data = new ObbdMap { { "data", new ObbdMap { { "hp", System.Numerics.BigInteger.Pow(2, 70) } } } };
        Same(scene.Patch("a", data).Map("data")["hp"].ToString(), "1180591620717411303424");
        Near(scene.Transform("a", new ObbdMap { { "translate", V(1, 0, 0) } }).Numbers("center")[0], 6);
        Near(scene.Merge("a", "b").Numbers("center")[0], 7.5);
        Same(scene.Boxes("entity=ann").Single().Text("name"), "b");
        Same(scene.Box("c/d é").Text("name"), "c/d é");
        Same(scene.Frames().Count(), 0);
        Same(scene.Info().Number("boxes"), 3.0);
        ObbdTick tick = scene.NewTick();
        tick.Point(V(7.5, 0, 0), new ObbdAsk { Tag = "seen" });
        tick.Point(V(7.5, 0, 0), new ObbdAsk { Tag = "unseen", Unrecorded = true });
        tick.SendAndWait();
        Same(scene.Recorded().Single().Text("tag"), "seen");
        Same(scene.Recorded("tag=unseen").Count(), 0);
        var reads = new Action<string>[]
        {
            which => scene.Info(which), which => scene.Box("a", "aabb", which), which => scene.Boxes(which).Count(),
            which => scene.Frames("a", which).Count(), which => scene.Recorded(which).Count(), which => scene.Export(which),
        };
        foreach (Action<string> read in reads)
        {
            read("fresh=true");
            read("revision=1");
            Same(Throws<ObbdProblem>(() => read("revision=-1")).Status, 400); // so the daemon gets what is asked
        }
        ObbdMap copy = scene.CopyTo(scene.Name + " copy");
        Same(copy.Number("boxes"), 3.0);
        Same(scene.Commit(new ObbdMap { { "pose", new ObbdMap { { "a", new ObbdMap { { "center", V(0, 0, 0) } } } } } }).Number("posed"), 1.0);
        Same(client.Scenes().Count(one => one.Text("name") == scene.Name + " copy"), 1);
        Same(client.Scene(scene.Name + " copy").Import(scene.Export()).Number("boxes"), 3.0);
        ObbdProblem problem = Throws<ObbdProblem>(() => scene.Put(new ObbdMap { { "a", Cube(double.NaN) } }));
        Same(problem.Type + " " + problem.Pointer, "/problems/bad-number /put/a/center/0");
        ObbdScene plane = Fresh(client);
        plane.Set(new ObbdMap { { "dimensions", 2 } });
        var flat = new ObbdMap { { "center", new double[] { 0, 0 } }, { "half_extents", new double[] { 1, 1 } }, { "angle", 45 } };
        ObbdMap[] asked = { new ObbdMap { { "kind", "point" }, { "points", new[] { new double[] { 0, 1.3 } } } } };
        ObbdMap done = plane.Commit(new ObbdMap { { "put", new ObbdMap { { "a", flat } } }, { "queries", asked } });
        string found = Json.Written(done["results"]);
        Same(found, "[{\"results\":[{\"boxes\":[\"a\"]}]}]", "the corner of a box that is turned by 45 degrees");
        asked[0]["points"] = new[] { new double[] { 1.3, 1.3 } };
        Same(Json.Written(plane.Query(asked[0])["results"]), "[{\"boxes\":[]}]");
        scene.Put(new ObbdMap { { "zero", CubeMap(-0.0) } });
        Same(BitConverter.DoubleToInt64Bits(scene.Box("zero").Numbers("center")[0]) < 0, true, "-0.0 stays");
        Throws<ArgumentException>(() => client.Request("GET", "/v1/scenes HTTP/1.1\r\nX: y"), "found the character 32");
        Throws<ArgumentException>(() => client.Request("GET", "/v1/scenes", null, new Dictionary<string, string> { { "X", "a\r\nb" } }), "found the character 13");
        scene.Delete();
        Same(Throws<ObbdProblem>(() => scene.Info()).Status, 404);
        return null;
    }

    /// <summary>Ticks of two scenes and a plain call under way at once, each on a connection of its own.</summary>
    public static object ManyAtOnce(ObbdClient client, ObbdMap arguments)
    {
        var ticks = new List<ObbdTick>();
        for (int i = 0; i < 5; i++)
        {
            ObbdTick tick = Fresh(client).NewTick();
            tick.Put("a" + i, Cube(i));
            tick.Ray(new ObbdRay(V(-10, 0, 0), V(1, 0, 0)));
            tick.Send();
            ticks.Add(tick);
        }
        Same(client.Request("GET", "/healthz").Map.Text("status"), "alive");
        for (int i = 4; i >= 0; i--)
        {
            Same(ticks[i].TryFinish(10000), true);
            Same(ticks[i].Problem, null);
            Same(ticks[i].IdOf("a" + i), 1u);
            Same(ticks[i].Hit(0, out ObbdHit hit), true);
            Near(hit.Distance, 9 + i, "its own answer");
        }
        return null;
    }

    /// <summary>Large bodies go out and come in over many writes and reads.</summary>
    public static object Large(ObbdClient client, ObbdMap arguments)
    {
        const int Boxes = 20000;
        ObbdScene scene = Fresh(client);
        var names = new string[Boxes];
        var centers = new double[3 * Boxes];
        for (int i = 0; i < Boxes; i++)
        {
            names[i] = "a box with a name that makes the body large, number " + i;
            centers[3 * i] = i;
        }
        ObbdMap put = new ObbdMap { { "names", names }, { "centers", centers }, { "half_extents", new double[] { 0.6, 1, 1 } } };
        ObbdMap done = scene.Commit(new ObbdMap { { "put", put } });
        uint[] ids = (uint[])done["ids"];
        Same(scene.IdOf(names[Boxes - 1]), ids[Boxes - 1]);
        string lines = scene.Export();
        Same(lines.Split('\n').Length - 2, Boxes);
        Same(lines.Length > 2000000, true, "an export of " + lines.Length + " characters");
        ObbdTick tick = scene.NewTick();
        tick.Poses(ids, centers);
        int pairs = tick.AllPairs();
        tick.SendAndWait();
        Same(tick.Posed, Boxes);
        Same(tick.Count(pairs), (long)Boxes - 1);
        Same(tick.Pair(pairs, Boxes - 2, out uint a, out uint b), true);
        Same(b, ids[Boxes - 1]);
        return lines.Length;
    }

    /// <summary>
    /// A commit of a builder whose answer was cut is sent again with its id; `url` is a proxy that cuts.
    /// </summary>
    public static object SentAgain(ObbdClient client, ObbdMap arguments)
    {
        ObbdTick tick = Other(arguments).Scene("cut").NewTick();
        tick.Put("a", Cube(0));
        tick.SendAndWait();
        tick = Other(arguments).Scene("cut").NewTick();
        tick.Transform("a", V(1, 0, 0));
        int query = tick.AllPairs();
        tick.SendAndWait();
        Same(tick.Repeated, true);
        Same(tick.Count(query), 0L);
        Near(client.Scene("cut").Box("a").Numbers("center")[0], 1);
        return null;
    }

    /// <summary>
    /// Moves a frame with a time, and once more without one; `url` is a server that cuts the first request of each.
    /// </summary>
    public static object CutFrames(ObbdClient client, ObbdMap arguments)
    {
        ObbdTick tick = Other(arguments).Scene("yard").NewTick();
        tick.Begin(5);
        tick.Frame("rig", V(1, 0, 0));
        Throws<ObbdUnknown>(() => tick.SendAndWait());
        tick.Begin();
        tick.Frame("rig", V(1, 0, 0));
        tick.SendAndWait();
        return null;
    }

    /// <summary>
    /// A commit with queries that the daemon could not answer, sent by SendAndWait; `url` is a server that says so.
    /// </summary>
    public static object AskedAgain(ObbdClient client, ObbdMap arguments)
    {
        ObbdTick tick = Other(arguments).Scene("yard").NewTick();
        tick.Id = "round-1";
        tick.Remove("x");
        int first = tick.AllPairs(new ObbdAsk { Fresh = true });
        int second = tick.Point(V(1, 0, 0), new ObbdAsk { At = ObbdAt.Ago(30) });
        tick.SendAndWait();
        return new ObbdMap { { "revision", tick.Revision }, { "count", tick.Count(first) }, { "box", tick.Box(second, 0) } };
    }

    /// <summary>
    /// A commit of two queries of which the daemon never answers the second, sent by SendAndWait, and as a tick; `url` is a
    /// server that says so.
    /// </summary>
    public static object Unanswered(ObbdClient client, ObbdMap arguments)
    {
        ObbdTick tick = Other(arguments).Scene("yard").NewTick();
        tick.Remove("x");
        tick.AllPairs();
        tick.Point(V(1, 0, 0));
        Throws<ObbdUnanswered>(() => tick.SendAndWait(), "found too much");
        tick.Begin(5);
        tick.Pose("a", V(1, 0, 0));
        int first = tick.AllPairs(), second = tick.Point(V(1, 0, 0));
        tick.Send();
        while (!tick.TryFinish(10000))
        {
        }
        Same(tick.Problem?.GetType(), typeof(ObbdUnanswered), "" + tick.Problem);
        Same(tick.Revision, 7L);
        Same(tick.Count(first), 2L, "the result that came is there");
        Same(tick.Box(second, 0), 0u);
        return null;
    }

    /// <summary>
    /// What waits for an answer, and what is sent later, fails when the client is disposed; `url` never answers.
    /// </summary>
    public static object Disposed(ObbdClient client, ObbdMap arguments)
    {
        ObbdClient other = Other(arguments);
        ObbdScene scene = other.Scene("yard");
        ObbdTick tick = scene.NewTick();
        tick.Begin(5);
        tick.Pose("a", V(1, 0, 0));
        tick.Send();
        Same(tick.TryFinish(20), false);
        other.Dispose();
        Same(tick.TryFinish(), true);
        Throws<ObbdUnknown>(() => { throw tick.Problem; }, "the client was disposed");
        Throws<ObbdRefused>(() => scene.Info(), "the client was disposed");
        return null;
    }

    /// <summary>
    /// Streams end when their client is disposed: one that waits for a message, one whose daemon is not there any more, and one that
    /// was not opened. `url` is a server that makes one stream and ends it.
    /// </summary>
    public static object DisposedEvents(ObbdClient client, ObbdMap arguments)
    {
        string name = Fresh(client).Name;
        ObbdClient here = new ObbdClient(arguments.Text("daemon")), away = Other(arguments);
        here.Scene(name).Put(new ObbdMap { { "a", CubeMap(0) } });
        ObbdEvents waits = here.Scene(name).Follow(), breaks = away.Scene(name).Follow(), later = here.Scene(name).Follow();
        foreach (ObbdEvents events in new[] { waits, breaks })
            Same(events.Read(out ObbdEvent state, 10000) ? state.Kind : null, "state");
        Same(waits.Read(out ObbdEvent none, 100) || breaks.Read(out none, 100), false);
        Same(waits.Ended || breaks.Ended || later.Ended, false);
        here.Dispose();
        away.Dispose();
        long began = Clock.Now;
        foreach (ObbdEvents events in new[] { waits, breaks, later })
        {
            Same(events.Read(out none, 5000), false);
            Same(events.Ended, true);
        }
        Same(Clock.Now - began < 5000, true, "none of them goes on");
        return null;
    }

    /// <summary>Against servers that misbehave as a tick sees it: polled, as a game does.</summary>
    public static object TickAgainst(ObbdClient client, ObbdMap arguments)
    {
        ObbdTick tick = new ObbdClient(arguments.Text("url"), new ObbdOptions { Timeout = 5000 }).Scene("yard").NewTick();
        if (arguments.Has("time"))
            tick.Begin(arguments.Number("time"));
        tick.Pose("a", V(1, 0, 0));
        int query = tick.AllPairs();
        tick.Send();
        long longest = 0;
        while (tick.Busy)
        {
            long began = Clock.Now;
            tick.TryFinish();
            longest = Math.Max(longest, Clock.Now - began);
            Thread.Sleep(5);
        }
        return new ObbdMap
        {
            { "problem", tick.Problem == null ? null : tick.Problem.GetType().Name },
            { "revision", tick.Revision }, { "count", tick.Count(query) }, { "longest", longest },
        };
    }
}
