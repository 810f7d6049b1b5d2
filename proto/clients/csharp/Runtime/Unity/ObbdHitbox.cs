using UnityEngine;

namespace Obbd.Unity
{
    /// <summary>A box that the daemon knows: it stands where its Transform stands, below an ObbdWorld.</summary>
    [AddComponentMenu("obbd/Hitbox")]
    public sealed class ObbdHitbox : MonoBehaviour
    {
        [Tooltip("The name in the scene; it must be unique there. Empty: the name of the object.")]
        public string boxName = "";
        [Tooltip("A name that the boxes of one player share. Empty: none.")]
        public string entity = "";
        [Tooltip("Half the lengths of the edges, in units of the world: the scale of the Transform does not count.")]
        public Vector3 halfExtents = new Vector3(0.5f, 0.5f, 0.5f);

        ObbdWorld world;

        public string Name { get { return boxName.Length > 0 ? boxName : name; } }

        /// <summary>The id in the scene; 0 as long as the daemon does not have the box.</summary>
        public uint Id { get; internal set; }

        public ObbdBox ToObbd()
        {
            return new ObbdBox(transform.position.ToObbd(), halfExtents.ToObbd(), entity.Length > 0 ? entity : null)
            {
                Rotation = transform.rotation.ToObbd()
            };
        }

        void OnEnable()
        {
            world = GetComponentInParent<ObbdWorld>();
            if (world != null)
                world.Add(this);
        }

        void OnDisable()
        {
            if (world != null)
                world.Remove(this);
            world = null;
        }
    }
}
