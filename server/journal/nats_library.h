/* libnats, opened when it is first needed. Linked, it would make every start 1.5 ms longer, also of
 * a daemon that never uses it: it brings OpenSSL along. Only nats.c and nats_library.c know it. */
#ifndef SRV_NATS_LIBRARY_H
#define SRV_NATS_LIBRARY_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stddef.h>

/* What is used of it. */
#define SRV_NATS_FUNCTIONS(X)                  \
    X(nats_CloseAndWait)                       \
    X(nats_Sleep)                              \
    X(natsConnection_Connect)                  \
    X(natsConnection_Destroy)                  \
    X(natsConnection_FlushTimeout)             \
    X(natsConnection_JetStream)                \
    X(natsConnection_PublishMsg)               \
    X(natsConnection_PublishRequest)           \
    X(natsConnection_RequestString)            \
    X(natsConnection_Subscribe)                \
    X(natsMsgHeader_Get)                       \
    X(natsMsgHeader_Set)                       \
    X(natsMsg_Create)                          \
    X(natsMsg_Destroy)                         \
    X(natsMsg_GetData)                         \
    X(natsMsg_GetDataLength)                   \
    X(natsMsg_GetMetaData)                     \
    X(natsMsg_GetSubject)                      \
    X(natsMsg_IsNoResponders)                  \
    X(natsOptions_Create)                      \
    X(natsOptions_Destroy)                     \
    X(natsOptions_LoadCATrustedCertificates)   \
    X(natsOptions_LoadCertificatesChain)       \
    X(natsOptions_SetDisconnectedCB)           \
    X(natsOptions_SetErrorHandler)             \
    X(natsOptions_SetMaxPingsOut)              \
    X(natsOptions_SetMaxReconnect)             \
    X(natsOptions_SetPingInterval)             \
    X(natsOptions_SetReconnectJitter)          \
    X(natsOptions_SetReconnectWait)            \
    X(natsOptions_SetReconnectedCB)            \
    X(natsOptions_SetSecure)                   \
    X(natsOptions_SetSendAsap)                 \
    X(natsOptions_SetServers)                  \
    X(natsOptions_SetTimeout)                  \
    X(natsOptions_SetUserCredentialsFromFiles) \
    X(natsStatus_GetText)                      \
    X(natsSubscription_Destroy)                \
    X(natsSubscription_GetConsumerInfo)        \
    X(natsSubscription_SetOnCompleteCB)        \
    X(natsSubscription_SetPendingLimits)       \
    X(natsSubscription_Unsubscribe)            \
    X(jsConsumerInfo_Destroy)                  \
    X(jsCtx_Destroy)                           \
    X(jsDirectGetMsgOptions_Init)              \
    X(jsMsgMetaData_Destroy)                   \
    X(jsOptions_Init)                          \
    X(jsStreamConfig_Init)                     \
    X(jsStreamInfo_Destroy)                    \
    X(jsSubOptions_Init)                       \
    X(js_AddStream)                            \
    X(js_DirectGetMsg)                         \
    X(js_GetMsg)                               \
    X(js_GetStreamInfo)                        \
    X(js_PurgeStream)                          \
    X(js_Subscribe)                            \
    X(js_UpdateStream)

struct srv_nats_library {
#define SRV_NATS_MEMBER(name) __typeof__(&(name)) name;
    SRV_NATS_FUNCTIONS(SRV_NATS_MEMBER)
#undef SRV_NATS_MEMBER
};

/* Opens the library for the rest of the process. Returns false if it is not installed, or is too
 * old; error then holds one line. */
bool srv_nats_library_open(struct srv_nats_library *out, char *error, size_t error_size);

#endif
