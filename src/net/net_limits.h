/*
 * net_limits - limits of the network layer; see base/core/limits.h.
 */
#ifndef NET_NET_LIMITS_H
#define NET_NET_LIMITS_H

#include "base/core/limits.h"

/* HTTP requests and responses. */
#define HTTP_HEADERS_MAX      (64UL * KIB) /* sum of names and values; beyond it 431 */
#define HTTP_HEADER_COUNT_MAX 128
#define HTTP_TARGET_MAX       (64UL * KIB) /* kubectl exec: the command is in the target */
#define HTTP_WINDOW           (64UL * KIB) /* received and not yet consumed, per stream */
#define HTTP_CONN_WINDOW      (1UL * MIB) /* the same, over all streams of one connection */
#define HTTP_OUT_HIGH         (64UL * KIB) /* queued for one stream: above it, producers wait */
#define HTTP_STREAMS_MAX      250 /* concurrent streams of one HTTP/2 connection, as upstream */
#define WEBSOCKET_FRAME_MAX   (32UL * MIB) /* from a client, like upstream; it is not stored */

/* HTTP/1.1: bytes around the messages. */
#define HTTP1_HELD_MAX       (1UL * MIB) /* later requests that wait; reading pauses long before */
#define HTTP1_FRAMING_MAX    (16UL * KIB) /* framing bytes of one body ... */
#define HTTP1_FRAMING_FACTOR 16 /* ... beyond this many times its size */
#define HTTP1_DRAIN_MAX      (64UL * KIB) /* unread rest of a request that is discarded */

/* HTTP/2 floods: how many of each a peer may send beyond useful work, per connection. */
#define HTTP2_RESETS_BURST      1000 /* streams cancelled by the peer ... */
#define HTTP2_RESETS_PER_S      33 /* ... refilled at this rate */
#define HTTP2_CONTROL_BURST     1000 /* SETTINGS, PING, PRIORITY, empty DATA ... */
#define HTTP2_CONTROL_PER_S     100
#define HTTP2_CONTINUATIONS_MAX 8 /* CONTINUATION frames of one header block */

/* Connections waiting in the kernel for accept. */
#define NET_BACKLOG     1024
#define NET_ADDRESS_MAX 128 /* text form of an address; unix paths end at 107 bytes */

/* Ciphertext of one connection that its socket has not taken yet; a batch makes 65 KiB. */
#define TLS_PENDING_MAX (256UL * KIB)

/* Certificates and keys read from files. */
#define PEM_FILE_MAX (1UL * MIB)

/* A service account's token. */
#define JWT_MAX (32UL * KIB)

#endif
