/*
 * base64 - RFC 4648 in both alphabets, with strict decoding.
 *
 * Strict means: no spaces or line breaks, padding exactly where the form requires it, and unused
 * trailing bits zero. So every byte string has one text, and different texts never mean the same
 * bytes. (Go's decoder skips line breaks; the Kubernetes API never sends any.)
 */
#ifndef BASE_TEXT_BASE64_H
#define BASE_TEXT_BASE64_H

#include "base/core/buf.h"

enum base64_form {
	BASE64_STD, /* + and /, padded: JSON bodies, kubeconfigs */
	BASE64_STD_RAW,
	BASE64_URL, /* - and _, padded */
	BASE64_URL_RAW, /* JWT, gRPC metadata, continue tokens */
};

/* The encoded size of n bytes, with padding. */
static inline size_t base64_encoded_size(size_t n)
{
	return (n + 2) / 3 * 4;
}

/* Appends; -ERR_TOO_LARGE at the buffer's limit. */
int base64_encode(struct buf *out, struct str in, enum base64_form form);

/*
 * Appends the decoded bytes. Returns -ERR_BAD_REQUEST with the position of the first invalid byte,
 * -ERR_TOO_LARGE at the buffer's limit. On failure the buffer is unchanged.
 */
int base64_decode(struct buf *out, struct str in, enum base64_form form, struct error *err);

#endif
