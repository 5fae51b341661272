/*
 * health_message - makes a plugin's health message fit for a Pod's status (KEP-4680). Pure.
 *
 * Device plugins and DRA drivers may send any bytes. The API server rejects a whole status if one
 * message in it is too long, so every message is cleaned here when it is read from the wire.
 */
#ifndef NODE_HEALTH_HEALTH_MESSAGE_H
#define NODE_HEALTH_HEALTH_MESSAGE_H

#include "base/core/arena.h"
#include "base/core/str.h"

/*
 * Returns the message without surrounding white space, as UTF-8 (U+FFFD for each invalid byte),
 * with a space for each control character, in at most RESOURCE_HEALTH_MESSAGE_MAX bytes. A longer
 * message is cut at a character boundary and ends in "...". A message that is clean already is
 * borrowed; otherwise the result lives in `a`. Cleaning a result again returns the same text.
 */
struct str health_message_clean(struct str message, struct arena *a);

#endif
