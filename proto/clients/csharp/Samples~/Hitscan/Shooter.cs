using System.Collections.Generic;
using Obbd.Unity;
using UnityEngine;

/// <summary>
/// Fires at the target where a player with a slow connection sees it. The shot is judged at that moment, so it hits, though the
/// target has run on. `judgeNow` shows how it would be without.
/// </summary>
public sealed class Shooter : MonoBehaviour
{
    [Tooltip("Where the hitboxes are.")]
    public ObbdWorld world;
    [Tooltip("What is fired at.")]
    public ObbdHitbox target;
    [Tooltip("How late the player sees the target, in physics ticks.")]
    public int ticksLate = 8;
    [Tooltip("Physics ticks from shot to shot.")]
    public int pause = 10;
    [Tooltip("Judge the shots by where the target is when they arrive.")]
    public bool judgeNow;

    struct Seen
    {
        internal Vector3 Position;
        internal double Time;
    }

    readonly Queue<Seen> onTheWay = new Queue<Seen>();
    int ticks;

    public int Fired { get; private set; }
    public int Hits { get; private set; }

    void OnEnable()
    {
        world.Judged += Judge;
    }

    void OnDisable()
    {
        world.Judged -= Judge;
    }

    void FixedUpdate()
    {
        onTheWay.Enqueue(new Seen { Position = target.transform.position, Time = world.Now });
        if (onTheWay.Count <= ticksLate)
            return;
        Seen seen = onTheWay.Dequeue();
        if (ticks++ % pause != 0 || target.Id == 0)
            return;
        Vector3 from = transform.position;
        var direction = new Vector3(seen.Position.x - from.x, seen.Position.y - from.y, seen.Position.z - from.z);
        world.Shoot(new ObbdShot { Ray = new Ray(from, direction), MaxDistance = 100, SeenAt = judgeNow ? world.Now : seen.Time });
        Fired++;
    }

    void Judge(ObbdShot shot, ObbdHitbox hitbox, Obbd.ObbdHit hit)
    {
        if (hitbox == target)
            Hits++;
        Debug.Log(hitbox == null ? "missed" : "hit " + hitbox.Name);
    }
}
