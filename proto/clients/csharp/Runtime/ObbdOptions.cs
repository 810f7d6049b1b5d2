using System;

namespace Obbd
{
    /// <summary>How a client is made.</summary>
    public sealed class ObbdOptions
    {
        /// <summary>The token that is sent with each request; null for the one in OBBD_TOKEN, or none.</summary>
        public string Token;
        /// <summary>Gives the token instead. Its argument says that the one before was refused.</summary>
        public Func<bool, string> AskToken;
        /// <summary>Milliseconds for a call with all its attempts.</summary>
        public int Timeout = 10000;
        /// <summary>How often a call may be sent again.</summary>
        public int Retries = 3;
        /// <summary>Carries the requests; null for sockets.</summary>
        public IObbdTransport Transport;
    }
}
