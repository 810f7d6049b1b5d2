using System;
using System.Text;

namespace Obbd
{
    /// <summary>Requests as commands for a shell.</summary>
    static class Curl
    {
        static string Quoted(string text)
        {
            return "'" + text.Replace("'", "'\"'\"'") + "'";
        }

        /// <summary>The command that sends the same request; a body in CBOR becomes JSON, and a token $TOKEN.</summary>
        internal static string Command(IObbdTransport transport, ObbdRequest request)
        {
            var words = new StringBuilder("curl -s -X " + request.Method);
            if (transport.SocketPath != null)
                words.Append(" --unix-socket ").Append(Quoted(transport.SocketPath));
            bool cbor = false;
            foreach (var header in request.Headers)
            {
                cbor |= header.Key == "Content-Type" && header.Value == Sender.Cbor;
                if (header.Key == "Authorization")
                    words.Append(" -H \"Authorization: Bearer $TOKEN\"");
                else if (header.Value != Sender.JsonType && header.Value != Sender.Cbor)
                    words.Append(" -H ").Append(Quoted(header.Key + ": " + header.Value));
            }
            if (request.HasBody)
                words.Append(" --json ").Append(Quoted(cbor ? AsJson(request) : AsText(request)));
            return words.Append(' ').Append(Quoted(transport.Base + request.Path)).ToString();
        }

        static string AsText(ObbdRequest request)
        {
            return Encoding.UTF8.GetString(request.Bytes, request.BodyAt, request.BodySize);
        }

        static string AsJson(ObbdRequest request)
        {
            object body = CborReader.Read(request.Bytes, request.BodyAt, request.BodySize);
            return Values.IsFinite(body) ? Json.Written(body) : "(a number is not finite)";
        }
    }
}
