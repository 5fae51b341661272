/*
 * health_message - makes a plugin's text about a device's health fit for a pod's status. Pure.
 *
 * Device plugins and DRA drivers may send any bytes. The API server rejects a whole status if one
 * message in it is too long, so every message is cleaned here, where it is read from the wire.
 */
#ifndef NODE_HEALTH_HEALTH_MESSAGE_H
#define NODE_HEALTH_HEALTH_MESSAGE_H

#include "base/core/arena.h"
#include "base/core/str.h"

/*
 * The message without white space around it, as UTF-8 (U+FFFD for each byte that is not), with a
 * space for each control character, in at most RESOURCE_HEALTH_MESSAGE_MAX bytes: a longer one is
 * cut at a character's end and ends in "...". Borrows a message that is clean already, else the
 * result lives in `a`. Cleaning a result again returns the same text.
 */
struct str health_message_clean(struct str message, struct arena *a);

#endif
