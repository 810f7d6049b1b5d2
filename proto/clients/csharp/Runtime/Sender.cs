using System;
using System.Collections.Generic;
using System.Text;

namespace Obbd
{
    /// <summary>
    /// What all requests of a client share: address, token, limits, and exchanges that are free to be used again.
    /// </summary>
    sealed class Sender : IDisposable
    {
        internal const string Cbor = "application/cbor", JsonType = "application/json", ProblemType = "application/problem+json";
        internal const string LinesType = "application/x-ndjson", EventsType = "text/event-stream";

        internal readonly IObbdTransport Transport;
        internal readonly int Timeout, Retries;
        internal readonly Random Random = new Random();
        readonly bool prints = Environment.GetEnvironmentVariable("OBBD_DEBUG") == "1";
        readonly Func<bool, string> asks;
        readonly Stack<Exchange> free = new Stack<Exchange>();
        string authorization;

        internal Sender(IObbdTransport transport, ObbdOptions options)
        {
            Transport = transport;
            Timeout = options.Timeout;
            Retries = options.Retries;
            asks = options.AskToken;
            if (asks == null)
                SetToken(options.Token ?? Environment.GetEnvironmentVariable("OBBD_TOKEN"));
        }

        void SetToken(string token)
        {
            authorization = string.IsNullOrEmpty(token) ? null : "Bearer " + token;
        }

        /// <summary>
        /// Asks for a new token in place of the one that was refused; false if there is nobody to ask.
        /// </summary>
        internal bool Renew(ObbdRequest request)
        {
            if (asks == null)
                return false;
            SetToken(asks(true));
            Authorize(request);
            return true;
        }

        internal void Authorize(ObbdRequest request)
        {
            if (authorization == null && asks != null)
                SetToken(asks(false));
            if (authorization != null)
                request.Set("Authorization", authorization);
        }

        internal Exchange Rent()
        {
            return free.Count > 0 ? free.Pop() : new Exchange(this, 0, 0);
        }

        internal void Return(Exchange exchange)
        {
            free.Push(exchange);
        }

        /// <summary>Puts the body into the request, as it is or as JSON or CBOR, and says of what type it is.</summary>
        internal static void Write(ObbdRequest request, object body, bool cbor)
        {
            if (cbor)
                request.Set("Accept", Cbor);
            if (body == null)
                return;
            request.HasBody = true;
            byte[] raw = body as byte[];
            if (body is string text)
                raw = Encoding.UTF8.GetBytes(text);
            bool asJson = raw == null && !cbor && TryJson(body, out raw);
            if (raw != null)
                Raw(request, raw);
            else
                request.Body.Value(body);
            if (!(body is string || body is byte[]))
                request.Set("Content-Type", asJson ? JsonType : Cbor);
        }

        static unsafe void Raw(ObbdRequest request, byte[] raw)
        {
            if (raw.Length > 0)
                fixed (byte* from = raw)
                    request.Body.Raw(from, raw.Length);
        }

        /// <summary>
        /// False if there is a number that is not finite: CBOR can hold it, so that the daemon says which it is.
        /// </summary>
        static bool TryJson(object body, out byte[] json)
        {
            json = Values.IsFinite(body) ? Encoding.UTF8.GetBytes(Json.Written(body)) : null;
            return json != null;
        }

        /// <summary>Sends a prepared request and waits for its answer. Throws an ObbdException.</summary>
        internal static ObbdReply Answer(Exchange exchange, bool changes, bool again, int? timeout, int? retries)
        {
            exchange.Begin(changes, again, timeout, retries);
            while (true)
            {
                exchange.Finish();
                if (exchange.Failure != null)
                    throw exchange.Failure;
                try
                {
                    return new ObbdReply(exchange);
                }
                catch (FormatException error)
                {
                    if (exchange.Unreadable(error))
                        throw exchange.Failure;
                }
            }
        }

        internal void Print(ObbdRequest request)
        {
            if (prints)
                Console.Error.WriteLine(Curl.Command(Transport, request));
        }

        /// <summary>Was the client disposed? Then nothing is sent any more.</summary>
        internal bool IsDisposed { get; private set; }

        public void Dispose()
        {
            IsDisposed = true;
            Transport.Dispose();
        }
    }
}
