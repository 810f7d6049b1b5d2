using Unity.Collections;
using Unity.Collections.LowLevel.Unsafe;
using UnityEngine;

namespace Obbd.Unity
{
    /// <summary>
    /// Types of Unity as types of the client. The numbers are the same, those of rotations and angles too: the daemon turns by the
    /// formula by which Unity turns, and never asks which hand it is.
    /// </summary>
    public static class ObbdConversions
    {
        public static ObbdVector ToObbd(this Vector3 v)
        {
            return new ObbdVector(v.x, v.y, v.z);
        }

        public static ObbdRotation ToObbd(this Quaternion q)
        {
            return new ObbdRotation(q.x, q.y, q.z, q.w);
        }

        public static ObbdRay ToObbd(this Ray ray, float maxDistance = 0)
        {
            return new ObbdRay(ray.origin.ToObbd(), ray.direction.ToObbd(), maxDistance);
        }

        public static Vector3 ToUnity(this ObbdVector v)
        {
            return new Vector3((float)v.X, (float)v.Y, (float)v.Z);
        }

        /// <summary>
        /// Moves the first n boxes. Arrays of vectors and quaternions lie as the daemon takes them. Ids that are of another epoch are
        /// refused.
        /// </summary>
        public static unsafe void Poses(this ObbdTick tick, uint[] ids, Vector3[] centers, Quaternion[] rotations, int n)
        {
            fixed (uint* i = ids)
            fixed (Vector3* c = centers)
            fixed (Quaternion* r = rotations)
                tick.Poses(i, (float*)c, (float*)r, n, ids);
        }

        /// <summary>
        /// The same with the arrays that jobs fill, as those of TransformAccessArray. `owner` is the array of `Ids` from which the ids
        /// were copied, for a NativeArray does not tell of which epoch it is; null: they are taken for ids of now.
        /// </summary>
        public static unsafe void Poses(this ObbdTick tick, NativeArray<uint> ids, NativeArray<Vector3> centers,
            NativeArray<Quaternion> rotations, int n, uint[] owner)
        {
            tick.Poses((uint*)ids.GetUnsafeReadOnlyPtr(), (float*)centers.GetUnsafeReadOnlyPtr(),
                (float*)rotations.GetUnsafeReadOnlyPtr(), n, owner);
        }
    }
}
