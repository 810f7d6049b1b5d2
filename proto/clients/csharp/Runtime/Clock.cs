using System.Diagnostics;

namespace Obbd
{
    /// <summary>Milliseconds of a clock that only goes forward.</summary>
    static class Clock
    {
        internal const long Never = long.MaxValue;

        internal static long Now { get { return Stopwatch.GetTimestamp() / (Stopwatch.Frequency / 1000); } }

        /// <summary>The milliseconds from now until then, at least 0; -1 if that is never.</summary>
        internal static int Until(long then)
        {
            if (then == Never)
                return -1;
            long left = then - Now;
            return left <= 0 ? 0 : left > int.MaxValue ? int.MaxValue : (int)left;
        }

        /// <summary>The shorter of two waits, of which -1 is for ever.</summary>
        internal static int Shorter(int one, int other)
        {
            return one < 0 ? other : other < 0 || one < other ? one : other;
        }

        internal static long After(int milliseconds)
        {
            return milliseconds < 0 ? Never : Now + milliseconds;
        }
    }
}
