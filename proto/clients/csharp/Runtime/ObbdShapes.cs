using System;
using System.Collections.Generic;

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

        internal void CopyTo(double[] numbers, int at)
        {
            numbers[at] = X;
            numbers[at + 1] = Y;
            numbers[at + 2] = Z;
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

        /// <summary>Boxes as columns. One that is the default of all boxes is left out.</summary>
        internal static ObbdMap Columns(IList<string> names, IList<ObbdBox> boxes)
        {
            int n = boxes.Count;
            var centers = new double[checked(3 * n)];
            var halves = new double[3 * n];
            var rotations = new double[checked(4 * n)];
            uint[] categories = new uint[n], masks = new uint[n];
            object[] entities = new object[n], frames = new object[n], groups = new object[n], ttls = new object[n];
            bool rotation = false, entity = false, frame = false, category = false, mask = false, group = false, ttl = false;
            for (int i = 0; i < n; i++)
            {
                ObbdBox box = boxes[i];
                box.Center.CopyTo(centers, 3 * i);
                box.HalfExtents.CopyTo(halves, 3 * i);
                rotations[4 * i] = box.Rotation.X;
                rotations[4 * i + 1] = box.Rotation.Y;
                rotations[4 * i + 2] = box.Rotation.Z;
                rotations[4 * i + 3] = box.Rotation.IsStated ? box.Rotation.W : 1;
                entities[i] = box.Entity;
                frames[i] = box.Frame;
                categories[i] = box.Category ?? 1;
                masks[i] = box.Mask ?? uint.MaxValue;
                groups[i] = box.Group;
                ttls[i] = box.Ttl != 0 ? (object)box.Ttl : null;
                rotation |= box.Rotation.IsStated;
                entity |= box.Entity != null;
                frame |= box.Frame != null;
                category |= box.Category != null;
                mask |= box.Mask != null;
                group |= box.Group != 0;
                ttl |= box.Ttl != 0;
            }
            var columns = new ObbdMap { { "names", new List<string>(names) }, { "centers", centers }, { "half_extents", halves } };
            Add(columns, "rotations", rotations, rotation);
            Add(columns, "entities", entities, entity);
            Add(columns, "frames", frames, frame);
            Add(columns, "category", categories, category);
            Add(columns, "mask", masks, mask);
            Add(columns, "group", groups, group);
            Add(columns, "ttl", ttls, ttl);
            return columns;
        }

        static void Add(ObbdMap columns, string name, object column, bool isStated)
        {
            if (isStated)
                columns.Add(name, column);
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
