namespace Obbd
{
    /// <summary>Which state of the scene is asked. `default(ObbdAt)` is the present one.</summary>
    public struct ObbdAt
    {
        internal string Member;
        internal double Value;
        internal bool Clamp, WholeTicks;

        static ObbdAt Of(string member, double value, bool clamp)
        {
            return new ObbdAt { Member = member, Value = value, Clamp = clamp };
        }

        /// <summary>The state at a time of the scene's clock, or the nearest one that the history has.</summary>
        public static ObbdAt Time(double time)
        {
            return Of("time", time, true);
        }

        /// <summary>The state so many milliseconds before the newest time, or the oldest one.</summary>
        public static ObbdAt Ago(double milliseconds)
        {
            return Of("ago", milliseconds, true);
        }

        /// <summary>The state after a commit.</summary>
        public static ObbdAt Revision(long revision)
        {
            return Of("revision", revision, false);
        }

        /// <summary>The same, but outside the history a problem instead of the nearest state.</summary>
        public ObbdAt Exactly()
        {
            ObbdAt at = this;
            at.Clamp = false;
            return at;
        }

        /// <summary>The same, but the last commit that is not later, instead of poses between two commits.</summary>
        public ObbdAt WithoutInterpolation()
        {
            ObbdAt at = this;
            at.WholeTicks = true;
            return at;
        }
    }

    public enum ObbdMode { Closest, Any, All, ClosestPerEntity }

    /// <summary>The options of a query of a tick. `default(ObbdAsk)` states none.</summary>
    public struct ObbdAsk
    {
        public ObbdAt At;
        /// <summary>Which hits of a ray or a sweep are told.</summary>
        public ObbdMode Mode;
        /// <summary>The entity that is left out, as the player who shoots; null for none.</summary>
        public string ExceptEntity;
        /// <summary>Ids of boxes that are left out; null for none.</summary>
        public uint[] Except;
        /// <summary>The beginning of the names of boxes that take part; null for all.</summary>
        public string Prefix;
        /// <summary>Bits; null if the query states none.</summary>
        public uint? Category, Mask;
        /// <summary>Boxes within this distance count as overlapping: pairs, all pairs, overlap.</summary>
        public double Margin;
        /// <summary>The most boxes, hits or pairs of a result; 0 for the default of the contract.</summary>
        public int Limit;
        /// <summary>A mark that comes back in problems and in the daemon's log; null for none.</summary>
        public string Tag;
        /// <summary>A scene that records queries leaves this one out.</summary>
        public bool Unrecorded;
        /// <summary>The newest state of all daemons over one log is asked.</summary>
        public bool Fresh;
    }
}
