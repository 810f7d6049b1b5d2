using System;
using System.Collections.Generic;
using UnityEngine;

namespace Obbd.Unity
{
    /// <summary>A shot that is judged at the time that its player saw.</summary>
    public struct ObbdShot
    {
        public Ray Ray;
        public float MaxDistance;
        /// <summary>By the clock of `ObbdWorld.Now`.</summary>
        public double SeenAt;
        /// <summary>The entity that is not hit, as the player who shoots; null for none.</summary>
        public string Player;
    }

    /// <summary>
    /// Sends the poses of all hitboxes below it with each FixedUpdate, and the shots that were fired since, in one commit. The
    /// answer is read in a later FixedUpdate, so nothing waits. A tick in which no hitbox comes or goes allocates nothing. It runs
    /// behind the scripts that move hitboxes and fire, so a pose is that of the tick whose time it gets.
    /// </summary>
    [DefaultExecutionOrder(10000)]
    [AddComponentMenu("obbd/World")]
    public sealed class ObbdWorld : MonoBehaviour
    {
        [Tooltip("http://... or unix:/path. Empty: OBBD_URL, else http://localhost:7480.")]
        public string url = "";
        [Tooltip("The name of the scene of the daemon.")]
        public string scene = "match";
        [Tooltip("Hitboxes and shots for which memory is taken at the start.")]
        public int hitboxCapacity = 2000, shotCapacity = 256;

        readonly List<ObbdHitbox> hitboxes = new List<ObbdHitbox>();
        readonly Dictionary<uint, ObbdHitbox> byId = new Dictionary<uint, ObbdHitbox>();
        readonly List<ObbdHitbox> sent = new List<ObbdHitbox>(); // put by the tick that was sent
        readonly List<string> names = new List<string>(); // of those
        readonly List<ObbdBox> boxes = new List<ObbdBox>();
        readonly List<string> removed = new List<string>(); // to be removed by the next tick
        readonly List<string> leaving = new List<string>(); // removed by the tick that was sent
        readonly List<ObbdShot> shots = new List<ObbdShot>(), asked = new List<ObbdShot>();
        ObbdClient client;
        internal ObbdTick tick;
        ObbdEvents events;
        uint[] ids;
        Vector3[] centers;
        Quaternion[] rotations;
        double epoch;
        bool behind; // is the clock behind that of the scene?

        /// <summary>What a shot hit, with the hitbox; or nothing: then the hitbox is null.</summary>
        public event Action<ObbdShot, ObbdHitbox, ObbdHit> Judged;
        /// <summary>Boxes began or ended to touch; a state means: begin anew with this set.</summary>
        public event Action<ObbdEvent> Touched;
        /// <summary>A tick had no answer. The next one is sent all the same.</summary>
        public event Action<ObbdException> Failed;

        public ObbdScene Scene { get; private set; }

        /// <summary>
        /// The clock of the scene, in milliseconds. It goes on from one run of the game to the next, for the scene's time may
        /// not run backwards.
        /// </summary>
        public double Now { get { return epoch + Time.timeAsDouble * 1000; } }

        /// <summary>The hitbox of an id; null if there is none.</summary>
        public ObbdHitbox HitboxOf(uint id)
        {
            return byId.TryGetValue(id, out ObbdHitbox hitbox) ? hitbox : null;
        }

        /// <summary>Fires a shot with the next tick; `Judged` tells what it hit.</summary>
        public void Shoot(ObbdShot shot)
        {
            shots.Add(shot);
        }

        internal void Add(ObbdHitbox hitbox)
        {
            hitbox.Id = 0;
            hitboxes.Add(hitbox);
            removed.Remove(hitbox.Name);
        }

        internal void Remove(ObbdHitbox hitbox)
        {
            hitboxes.Remove(hitbox);
            byId.Remove(hitbox.Id);
            removed.Add(hitbox.Name);
        }

        void Awake()
        {
            epoch = (DateTime.UtcNow - new DateTime(1970, 1, 1, 0, 0, 0, DateTimeKind.Utc)).TotalMilliseconds - Time.timeAsDouble * 1000;
            client = new ObbdClient(url.Length > 0 ? url : null);
            Scene = client.Scene(scene);
            Scene.Lost += _ => PutAgain();
            tick = Scene.NewTick(hitboxCapacity, shotCapacity);
            ids = new uint[hitboxCapacity];
            centers = new Vector3[hitboxCapacity];
            rotations = new Quaternion[hitboxCapacity];
        }

        /// <summary>The daemon was started again, or the scene deleted: the next tick puts all boxes.</summary>
        void PutAgain()
        {
            byId.Clear();
            foreach (ObbdHitbox hitbox in hitboxes)
                hitbox.Id = 0;
        }

        void FixedUpdate()
        {
            if (!tick.TryFinish())
                return; // the answer of the tick before is still to come
            ReadAnswer();
            ReadEvents();
            if (behind)
            {
                tick.Begin();
                tick.Send(); // the answer to an empty commit tells the time of the scene
                return;
            }
            tick.Begin(Now);
            WriteBoxes();
            for (int i = 0; i < shots.Count; i++)
            {
                tick.Ray(shots[i].Ray.ToObbd(shots[i].MaxDistance), shots[i].SeenAt, shots[i].Player);
                asked.Add(shots[i]);
            }
            shots.Clear();
            tick.Send();
        }

        void WriteBoxes()
        {
            for (int i = 0; i < removed.Count; i++)
            {
                tick.Remove(removed[i]);
                leaving.Add(removed[i]);
            }
            removed.Clear();
            if (hitboxes.Count > ids.Length)
            {
                Array.Resize(ref ids, 2 * hitboxes.Count);
                Array.Resize(ref centers, ids.Length);
                Array.Resize(ref rotations, ids.Length);
            }
            int n = 0;
            names.Clear();
            boxes.Clear();
            for (int i = 0; i < hitboxes.Count; i++)
            {
                ObbdHitbox hitbox = hitboxes[i];
                if (hitbox.Id == 0)
                {
                    names.Add(hitbox.Name);
                    boxes.Add(hitbox.ToObbd());
                    sent.Add(hitbox);
                    continue;
                }
                ids[n] = hitbox.Id;
                centers[n] = hitbox.transform.position;
                rotations[n++] = hitbox.transform.rotation;
            }
            tick.Poses(ids, centers, rotations, n);
            tick.Put(names, boxes); // in columns, so that the answer tells all ids, and nobody needs to ask for them
        }

        void ReadAnswer()
        {
            if (behind && tick.Problem == null)
                epoch = tick.Time + 1 - Time.timeAsDouble * 1000;
            behind = false;
            if (tick.Problem == null && sent.Count > 0)
                LearnIds();
            sent.Clear();
            if (tick.Problem != null)
                removed.AddRange(leaving);
            leaving.Clear();
            for (int i = 0; i < asked.Count && tick.Problem == null; i++)
            {
                ObbdHitbox hitbox = tick.Hit(i, out ObbdHit hit) ? HitboxOf(hit.Id) : null;
                if (Judged != null)
                    Judged(asked[i], hitbox, hit);
            }
            asked.Clear();
            if (tick.Problem is ObbdProblem problem && problem.Type == "/problems/time-backwards")
                behind = true; // this computer's clock was set back
            else if (tick.Problem != null && Failed != null)
                Failed(tick.Problem);
        }

        /// <summary>Takes the ids of the boxes that were put. A hitbox without one is put again by the next tick.</summary>
        void LearnIds()
        {
            foreach (ObbdHitbox hitbox in sent)
                if (hitboxes.Contains(hitbox) && Scene.TryIdOf(hitbox.Name, out uint id))
                    byId[hitbox.Id = id] = hitbox;
        }

        void ReadEvents()
        {
            if (Touched == null)
                return;
            if (events == null && byId.Count == 0)
                return; // nothing was put yet, so there may be no scene to follow
            if (events == null || events.Ended)
                events = Scene.Follow();
            while (events.TryRead(out ObbdEvent message))
                Touched(message);
        }

        void OnDestroy()
        {
            if (events != null)
                events.Dispose();
            if (client != null)
                client.Dispose();
        }
    }
}
