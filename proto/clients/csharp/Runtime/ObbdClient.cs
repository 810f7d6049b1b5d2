using System;
using System.Collections.Generic;

namespace Obbd
{
    /// <summary>
    /// The service as a whole: scenes, and whatever else the contract has. A client and all that it gives out belong to one
    /// thread at a time; another thread makes a client of its own.
    /// </summary>
    public sealed class ObbdClient : IDisposable
    {
        const string Address = "http://localhost:7480";

        readonly Sender sender;
        readonly Dictionary<string, ObbdScene> scenes = new Dictionary<string, ObbdScene>();

        /// <summary>
        /// A client of the daemon at http://... or unix:/path; by default at OBBD_URL, else at http://localhost:7480. Nothing
        /// is sent yet. Throws ArgumentException if the address is none.
        /// </summary>
        public ObbdClient(string url = null, ObbdOptions options = null)
        {
            if (!BitConverter.IsLittleEndian)
                throw new PlatformNotSupportedException("typed arrays of the contract are little-endian");
            options = options ?? new ObbdOptions();
            if (string.IsNullOrEmpty(url))
                url = Environment.GetEnvironmentVariable("OBBD_URL");
            if (string.IsNullOrEmpty(url))
                url = Address;
            sender = new Sender(options.Transport ?? new HttpTransport(url.TrimEnd('/')), options);
        }

        /// <summary>
        /// The scene of this name, one object for each. It is made by the first commit that puts a box.
        /// </summary>
        public ObbdScene Scene(string name)
        {
            if (!scenes.TryGetValue(name, out ObbdScene scene))
                scenes.Add(name, scene = new ObbdScene(name, sender));
            return scene;
        }

        /// <summary>The scenes by name, page by page.</summary>
        public IEnumerable<ObbdMap> Scenes()
        {
            string after = "";
            while (after != null)
            {
                ObbdMap page = Request("GET", "/v1/scenes" + after).Map;
                foreach (object scene in page.List("scenes"))
                    yield return (ObbdMap)scene;
                string cursor = page.Text("cursor");
                after = cursor == null ? null : "?cursor=" + Uri.EscapeDataString(cursor);
            }
        }

        /// <summary>
        /// Any request of the contract. A body that is a string or a byte[] is sent as it is, and needs a Content-Type among
        /// `headers`, as {"Content-Type", "application/json"}; other bodies become JSON, or CBOR if a typed array is in them
        /// or if `media` is "cbor". `again` says that a change may be sent again if the connection broke behind it; a GET and
        /// queries always may. Throws an ObbdException; a status other than 2xx and 304 is an ObbdProblem,
        /// and so is an answer under /v1/ of a type that the daemon does not send.
        /// </summary>
        public ObbdReply Request(string method, string path, object body = null, IDictionary<string, string> headers = null,
            string media = null, bool again = false, int? timeout = null, int? retries = null)
        {
            bool asks = method == "GET" || method == "HEAD" || method == "OPTIONS" || (method == "POST" && IsQuery(path));
            bool cbor = media == null ? Values.NeedsCbor(body) && !(body is byte[]) : media == "cbor";
            Exchange exchange = sender.Rent();
            try
            {
                exchange.Prepare(method, path);
                Sender.Write(exchange.Request, body, cbor);
                if (headers != null)
                    foreach (var header in headers)
                        exchange.Request.Set(header.Key, header.Value);
                return Sender.Answer(exchange, !asks, again, timeout, retries);
            }
            finally
            {
                sender.Return(exchange);
            }
        }

        /// <summary>Is it /v1/scenes/{scene}/query/{kind}? A box or a scene may be named "query", too.</summary>
        static bool IsQuery(string path)
        {
            string[] parts = path.Split('/');
            return parts.Length == 6 && path.StartsWith("/v1/scenes/", StringComparison.Ordinal) && parts[4] == "query" && path.IndexOf('?') < 0;
        }

        /// <summary>An answer that goes on, as GET /v1/scenes/{scene}/log?follow=true.</summary>
        public ObbdStream Stream(string path, IDictionary<string, string> headers = null)
        {
            return new ObbdStream(sender, path, headers);
        }

        /// <summary>
        /// Leaves the connections, also those of ticks and streams; what they wait for fails, and streams of events end.
        /// </summary>
        public void Dispose()
        {
            sender.Dispose();
        }
    }
}
