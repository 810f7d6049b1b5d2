using System.Collections.Generic;

namespace Obbd
{
    /// <summary>The answer to `ObbdClient.Request`.</summary>
    public sealed class ObbdReply
    {
        internal ObbdReply(Exchange exchange)
        {
            Status = exchange.Call.Status;
            Headers = exchange.Call.Headers();
            Value = exchange.Value();
        }

        public int Status { get; private set; }
        /// <summary>By name, in lower case.</summary>
        public Dictionary<string, string> Headers { get; private set; }
        /// <summary>An ObbdMap or a list; text and NDJSON as a string; null without a body.</summary>
        public object Value { get; private set; }
        /// <summary>The value, if it is an object; else null.</summary>
        public ObbdMap Map { get { return Value as ObbdMap; } }
    }
}
