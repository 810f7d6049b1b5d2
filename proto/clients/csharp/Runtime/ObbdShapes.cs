using System;

namespace Obbd
{
    /// <summary>A point, a direction or an extent.</summary>
    public struct ObbdVector
    {
        public double X, Y, Z;

        public ObbdVector(double x, double y, double z)
        {
            X = x;
            Y = y;
            Z = z;
        }

        public override string ToString()
        {
            return Json.Written(this);
        }
    }

    /// <summary>A quaternion. All zeros, as in `default(ObbdRotation)`, mean that none is stated.</summary>
    public struct ObbdRotation
    {
        public double X, Y, Z, W;

        public ObbdRotation(double x, double y, double z, double w)
        {
            X = x;
            Y = y;
            Z = z;
            W = w;
        }

        public bool IsStated { get { return X != 0 || Y != 0 || Z != 0 || W != 0; } }
    }

    /// <summary>A box as it is put, or as it is asked about without being stored.</summary>
    public struct ObbdBox
    {
        public ObbdVector Center, HalfExtents;
        public ObbdRotation Rotation;
        /// <summary>A name that several boxes share, as the hitboxes of one player do; null for none.</summary>
        public string Entity;
        /// <summary>The frame in whose coordinates the centre and the rotation are; null for none.</summary>
        public string Frame;
        /// <summary>Bits; null for the default of the contract: category 1, mask all bits.</summary>
        public uint? Category, Mask;
        public int Group;
        /// <summary>Milliseconds of the scene's clock after which an unchanged box is removed; 0 for never.</summary>
        public double Ttl;

        public ObbdBox(ObbdVector center, ObbdVector halfExtents, string entity = null)
        {
            Center = center;
            HalfExtents = halfExtents;
            Rotation = default(ObbdRotation);
            Entity = entity;
            Frame = null;
            Category = Mask = null;
            Group = 0;
            Ttl = 0;
        }

        internal ObbdMap ToMap()
        {
            var map = new ObbdMap { { "center", Center }, { "half_extents", HalfExtents } };
            if (Rotation.IsStated)
                map.Add("rotation", Rotation);
            if (Entity != null)
                map.Add("entity", Entity);
            if (Frame != null)
                map.Add("frame", Frame);
            if (Category != null)
                map.Add("category", Category.Value);
            if (Mask != null)
                map.Add("mask", Mask.Value);
            if (Group != 0)
                map.Add("group", Group);
            if (Ttl != 0)
                map.Add("ttl", Ttl);
            return map;
        }
    }

    /// <summary>A ray. A `MaxDistance` of 0 means that it has no end.</summary>
    public struct ObbdRay
    {
        public ObbdVector Origin, Direction;
        public double MaxDistance;

        public ObbdRay(ObbdVector origin, ObbdVector direction, double maxDistance = 0)
        {
            Origin = origin;
            Direction = direction;
            MaxDistance = maxDistance;
        }

        /// <summary>The ray from one point to another.</summary>
        public static ObbdRay Between(ObbdVector from, ObbdVector to)
        {
            var d = new ObbdVector(to.X - from.X, to.Y - from.Y, to.Z - from.Z);
            return new ObbdRay(from, d, Math.Sqrt(d.X * d.X + d.Y * d.Y + d.Z * d.Z));
        }
    }

    /// <summary>What a ray, a sweep or a question for the nearest box found.</summary>
    public struct ObbdHit
    {
        public uint Id;
        /// <summary>The length of the way, for rays and nearest boxes; NaN for sweeps.</summary>
        public double Distance;
        /// <summary>
        /// The share of the way at first contact; NaN where the answer states none, as for a ray without an end.
        /// </summary>
        public double Fraction;
        public ObbdVector Point;
        /// <summary>Zeros for nearest boxes.</summary>
        public ObbdVector Normal;
        /// <summary>
        /// The ray began inside the box, or the sweep in contact with it; known of the modes `All` and
        /// `ClosestPerEntity`.
        /// </summary>
        public bool Started;
    }
}
