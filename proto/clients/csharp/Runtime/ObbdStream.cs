using System;
using System.Collections.Generic;
using System.Text;

namespace Obbd
{
    /// <summary>An answer that goes on. Its lines are read as they come.</summary>
    public sealed class ObbdStream : IDisposable
    {
        readonly Exchange exchange;
        int looked;
        bool ended;

        /// <summary>Waits for the head of the answer. Throws an ObbdException.</summary>
        internal ObbdStream(Sender sender, string path, IDictionary<string, string> headers)
        {
            exchange = new Exchange(sender, 0, 0);
            exchange.Prepare("GET", path);
            exchange.Request.Streams = true;
            if (headers != null)
                foreach (var header in headers)
                    exchange.Request.Set(header.Key, header.Value);
            exchange.Begin(false, false, null, null);
            exchange.Finish();
            if (exchange.Failure != null)
                throw exchange.Failure;
        }

        public Dictionary<string, string> Headers { get { return exchange.Call.Headers(); } }

        /// <summary>
        /// The next line, without its end. False if none came within so many milliseconds, or if there will be none: then
        /// `Ended` is true. Throws ObbdDisconnected if the connection broke.
        /// </summary>
        public bool Read(out string line, int waitMs)
        {
            long until = Clock.After(waitMs);
            IObbdCall call = exchange.Call;
            while (true)
            {
                int stop = Array.IndexOf(call.Bytes, (byte)'\n', call.BodyAt + looked, call.BodySize - looked);
                if (stop >= 0 || (ended && call.BodySize > 0))
                {
                    int size = (stop < 0 ? call.BodyAt + call.BodySize : stop) - call.BodyAt;
                    line = Encoding.UTF8.GetString(call.Bytes, call.BodyAt, size);
                    call.Consume(stop < 0 ? size : size + 1);
                    looked = 0;
                    return true;
                }
                line = null;
                if (ended)
                    return false;
                looked = call.BodySize;
                int wait = Clock.Until(until);
                ObbdStep step = call.Step(wait);
                if (step == ObbdStep.Broken)
                {
                    ended = true;
                    throw new ObbdDisconnected(call.Why);
                }
                ended = step == ObbdStep.Done;
                if (!ended && call.BodySize == looked && Clock.Until(until) == 0)
                    return false;
            }
        }

        /// <summary>Whether all of the answer was read.</summary>
        public bool Ended { get { return ended && exchange.Call.BodySize == 0; } }

        public void Dispose()
        {
            exchange.Leave();
        }
    }
}
