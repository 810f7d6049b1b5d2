using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;
using Obbd;
using Obbd.Unity;
using UnityEngine;

/// <summary>The Unity components, on stubs of Unity, with the real daemon.</summary>
static partial class Checks
{
    /// <summary>Frames of a game, each of which finds the answer to the tick before.</summary>
    static void Ticks(ObbdWorld world, int count, Action each = null)
    {
        for (int i = 0; i < count; i++)
        {
            world.tick.TryFinish(10000);
            Time.timeAsDouble += 0.02;
            if (each != null)
                each();
            world.Send("FixedUpdate");
        }
    }

    /// <summary>Frames until something is so.</summary>
    static void Until(ObbdWorld world, string what, Func<bool> so)
    {
        for (int i = 0; !so(); i++)
        {
            if (i == 1000)
                throw new CheckFailed("not so after 1,000 frames: " + what);
            Ticks(world, 1);
            Thread.Sleep(2);
        }
    }

    static ObbdHitbox Hitbox(GameObject parent, string name, Vector3 at, string entity = "")
    {
        var made = new GameObject(name, parent);
        made.transform.position = at;
        return made.AddComponent<ObbdHitbox>(box => box.entity = entity);
    }

    public static object Unity(ObbdClient client, ObbdMap arguments)
    {
        string scene = Fresh(client).Name;
        for (int run = 0; run < 2; run++) // the second run of a game finds the boxes of the first
        {
            var root = new GameObject("world");
            var judged = new List<string>();
            var told = new List<string>();
            var failed = new List<string>();
            ObbdWorld world = root.AddComponent<ObbdWorld>(one =>
            {
                one.url = arguments.Text("url");
                one.scene = scene;
                one.Judged += (shot, hitbox, hit) => judged.Add(hitbox == null ? "nobody" : hitbox.Name);
                one.Touched += message => told.Add(message.Kind);
                one.Failed += problem => failed.Add(problem.Message);
            });
            ObbdHitbox ann = Hitbox(root, "ann", new Vector3(0, 0, 0), "ann");
            ObbdHitbox bob = Hitbox(root, "bob", new Vector3(0, 0, 20), "bob");
            Ticks(world, 4); // the second run finds the scene's clock ahead, and asks for its time first
            Same(bob.Id, client.Scene(scene).Box("bob")["id"] is long id ? (uint)id : 0, "the id of bob");
            Same(world.HitboxOf(bob.Id), bob);
            double seen = 0;
            Ticks(world, 10, () => bob.transform.position.x += 2);
            seen = world.Now - 100;
            float then = bob.transform.position.x - 2 * 5;
            Ticks(world, 1, () =>
            {
                var aim = new Ray(new Vector3(0, 0, 0), new Vector3(then, 0, 20));
                world.Shoot(new ObbdShot { Ray = aim, MaxDistance = 100, SeenAt = seen, Player = "ann" });
                world.Shoot(new ObbdShot { Ray = aim, MaxDistance = 100, SeenAt = world.Now, Player = "ann" });
            });
            Ticks(world, 3);
            Same(string.Join(" ", judged), "bob nobody", "judged");
            bob.transform.position = new Vector3(0.5f, 0, 0);
            Until(world, "bob touches ann", () => string.Join(" ", told) == "state begin");
            bob.Send("OnDisable");
            ObbdHitbox bad = Hitbox(root, "bad", new Vector3(0, 90, 0));
            bad.halfExtents.y = -1; // the tick that removes bob is refused, so a later one removes him
            Ticks(world, 2);
            Same(string.Join(" ", failed), "found -1; a half extent is 0 to 1e9 (/put/half_extents/1)");
            bad.halfExtents.y = 1;
            Until(world, "bob is removed", () => string.Join(" ", told) == "state begin end");
            Throws<ObbdProblem>(() => client.Scene(scene).Box("bob"));
            client.Scene(scene).Delete(); // by somebody else
            client.Scene(scene).Put(new ObbdMap { { "stranger", CubeMap(50) } });
            Ticks(world, 6);
            Same(failed.Count > 1 && failed[failed.Count - 1].Contains("epoch"), true, string.Join("; ", failed));
            Same(ann.Id, 2u, "put again, behind the stranger");
            Time.timeAsDouble += 3600; // so the clock of the next run is behind that of the scene
            Ticks(world, 2);
            world.Send("OnDestroy");
        }
        return null;
    }

    /// <summary>FixedUpdates that put a hitbox whose box was there before; the server, at `url`, answers the commit and nothing else.</summary>
    public static object UnityDoesNotAsk(ObbdClient client, ObbdMap arguments)
    {
        var root = new GameObject("world");
        ObbdWorld world = root.AddComponent<ObbdWorld>(one => one.url = arguments.Text("url"));
        ObbdHitbox ann = Hitbox(root, "ann", new Vector3(0, 0, 0));
        world.Send("FixedUpdate");
        world.tick.TryFinish(10000);
        long began = Clock.Now;
        Time.timeAsDouble += 0.02;
        world.Send("FixedUpdate");
        Same(Clock.Now - began < 5000, true, "one call that waits takes the timeout, 10 s");
        Same(ann.Id, 5u);
        world.Send("OnDestroy");
        return null;
    }

    /// <summary>FixedUpdates whose time is before that of the scene, which the server, at `url`, tells with its second answer: 9e14.</summary>
    public static object UnityBehind(ObbdClient client, ObbdMap arguments)
    {
        var root = new GameObject("world");
        ObbdWorld world = root.AddComponent<ObbdWorld>(one => one.url = arguments.Text("url"));
        Hitbox(root, "ann", new Vector3(0, 0, 0));
        for (int i = 0; i < 3; i++)
        {
            world.Send("FixedUpdate");
            world.tick.TryFinish(10000);
        }
        Same(world.Now, 9e14 + 1);
        world.Send("OnDestroy");
        return null;
    }

    /// <summary>FixedUpdates while the server, at `url`, takes a connection and never answers.</summary>
    public static object UnityDoesNotWait(ObbdClient client, ObbdMap arguments)
    {
        var root = new GameObject("world");
        ObbdWorld world = root.AddComponent<ObbdWorld>(one => one.url = arguments.Text("url"));
        Hitbox(root, "ann", new Vector3(0, 0, 0));
        long began = Clock.Now;
        for (int i = 0; i < 20; i++)
        {
            Time.timeAsDouble += 0.02;
            world.Send("FixedUpdate");
        }
        Same(Clock.Now - began < 5000, true, "one call that waits takes the timeout, 10 s");
        Same(world.tick.Busy, true);
        world.Send("OnDestroy");
        return null;
    }

    /// <summary>
    /// The scene of the sample, for 300 physics ticks: what the shooter fired and hit, judged by what was seen, or by now.
    /// </summary>
    public static object UnitySample(ObbdClient client, ObbdMap arguments)
    {
        string name = Fresh(client).Name;
        var guids = (ObbdMap)arguments["guids"];
        bool now = (bool)arguments["now"];
        var scene = new UnityScene(File.ReadAllText(arguments.Text("scene")), guid => Type.GetType(guids.Text(guid), true), script =>
        {
            if (script is ObbdWorld world)
            {
                world.url = arguments.Text("url");
                world.scene = name;
                world.Failed += problem => { throw new CheckFailed(problem.Message); };
            }
            else if (script is Shooter made)
                made.judgeNow = now;
        });
        for (int i = 0; i < 300; i++)
        {
            scene.Find<ObbdWorld>().tick.TryFinish(10000);
            Time.timeAsDouble += 0.02;
            scene.Send("FixedUpdate");
        }
        var shooter = scene.Find<Shooter>();
        scene.Find<ObbdWorld>().tick.TryFinish(10000);
        scene.Find<ObbdWorld>().Send("FixedUpdate");
        scene.Send("OnDestroy");
        Same(Debug.logged >= shooter.Hits, true, "lines in the console");
        return new ObbdMap { { "scripts", scene.Scripts }, { "fired", shooter.Fired }, { "hits", shooter.Hits } };
    }

    /// <summary>Vectors, quaternions and rays as the client takes them, from arrays and from memory of jobs.</summary>
    public static object UnityTypes(ObbdClient client, ObbdMap arguments)
    {
        ObbdScene scene = Fresh(client);
        ObbdTick tick = scene.NewTick();
        tick.Put("a", Cube(0));
        tick.Put("b", Cube(9));
        tick.SendAndWait();
        var ids = new uint[] { 1, 2, 0 };
        var centers = new[] { new Vector3(1, 2, 3), new Vector3(4, 5, 6), new Vector3(9, 9, 9) };
        var rotations = new[] { Quaternion.identity, new Quaternion { x = 1 }, new Quaternion() };
        tick.Poses(ids, centers, rotations, 2);
        tick.SendAndWait();
        Near(scene.Box("b").Numbers("center")[2], 6);
        Near(scene.Box("b").Numbers("rotation")[0], 1);
        centers[1].z = 7;
        var nativeIds = new global::Unity.Collections.NativeArray<uint>(ids);
        var nativeCenters = new global::Unity.Collections.NativeArray<Vector3>(centers);
        var nativeRotations = new global::Unity.Collections.NativeArray<Quaternion>(rotations);
        tick.Poses(nativeIds, nativeCenters, nativeRotations, 2, null);
        int ray = tick.Ray(new Ray(new Vector3(4, 5, 0), new Vector3(0, 0, 1)).ToObbd(50));
        tick.SendAndWait();
        Same(tick.Hit(ray, out ObbdHit hit), true);
        Same(hit.Point.ToUnity().z, 6f);
        uint[] owner = scene.Ids(new[] { "a", "b" });
        scene.Lost += one => one.Put(new ObbdMap { { "b", CubeMap(9) }, { "a", CubeMap(0) } }); // so 1 is another box
        using (ObbdClient another = Other(arguments))
            another.Scene(scene.Name).Delete();
        Throws<ObbdLost>(() => scene.Query(new ObbdMap { { "kind", "all-pairs" } }));
        tick.Poses(owner, centers, rotations, 1);
        Throws<ObbdLost>(tick.SendAndWait);
        tick.Poses(nativeIds, nativeCenters, nativeRotations, 1, owner);
        Throws<ObbdLost>(tick.SendAndWait);
        MoveByPointer(tick, owner);
        Throws<ObbdLost>(tick.SendAndWait);
        Near(scene.Box("b").Numbers("center")[0], 9, "no wrong box was moved");
        owner = scene.Ids(new[] { "b" });
        tick.Poses(owner, centers, rotations, 1);
        tick.SendAndWait();
        tick.Poses(nativeIds, nativeCenters, nativeRotations, 1, owner);
        tick.SendAndWait();
        MoveByPointer(tick, owner);
        tick.SendAndWait();
        Near(scene.Box("b").Numbers("center")[0], 7);
        return null;
    }

    /// <summary>FixedUpdate of 500 hitboxes and some shots; how many bytes it allocates.</summary>
    public static object UnityAllocated(ObbdClient client, ObbdMap arguments)
    {
        const int Count = 1000;
        string scene = Fresh(client).Name;
        var root = new GameObject("world");
        int hits = 0, failures = 0;
        ObbdWorld world = root.AddComponent<ObbdWorld>(one =>
        {
            one.url = arguments.Text("url");
            one.scene = scene;
            one.Judged += (shot, hitbox, hit) => hits += hitbox != null ? 1 : 0;
            one.Failed += problem => failures++;
        });
        for (int i = 0; i < 1500; i++)
            Hitbox(root, "box" + i, new Vector3(3 * i, 0, 0));
        Action update = (Action)Delegate.CreateDelegate(typeof(Action), world,
            typeof(ObbdWorld).GetMethod("FixedUpdate", System.Reflection.BindingFlags.Instance | System.Reflection.BindingFlags.NonPublic));
        long allocated = 0;
        for (int i = -200; i < Count; i++)
        {
            if (i == 0)
            {
                hits = 0;
                allocated = GC.GetAllocatedBytesForCurrentThread();
            }
            Time.timeAsDouble += 0.02;
            for (int k = 0; k < 8; k++)
                world.Shoot(new ObbdShot { Ray = new Ray(new Vector3(3 * k, 0, -5), new Vector3(0, 0, 1)), SeenAt = world.Now - 30, Player = "x" });
            update();
            world.tick.TryFinish(10000);
        }
        allocated = GC.GetAllocatedBytesForCurrentThread() - allocated;
        world.Send("OnDestroy");
        return new ObbdMap { { "allocated", allocated }, { "hits", hits }, { "failures", failures } };
    }
}
