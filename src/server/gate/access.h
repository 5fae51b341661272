/*
 * access - the gate that every request passes before it is looked at more closely.
 *
 * The user that authentication found must still exist; whom the request
 * impersonates must be allowed; and the user (then the impersonated one) must be
 * allowed what is asked for. All of it is decided at the state, on what is
 * committed, before the body is read and before anybody is told whether there is
 * such a thing: what may not be asked for is 403, even where it does not exist.
 *
 * Until the state is loaded only health and version are open; other requests wait (ready.h).
 */
#ifndef SERVER_GATE_ACCESS_H
#define SERVER_GATE_ACCESS_H

#include <stdbool.h>

struct exchange;
struct state;

/* On the stream's loop, without the state: who it is. False: refused and answered. */
bool access_identify(struct exchange *x);

/*
 * Asks the state; `then` follows, at once where the state's loop is the stream's. When it is
 * refused, that is answered and `then` does not come.
 */
void access_ask(struct exchange *x, void (*then)(struct exchange *x));

/* At the state, some time after access was granted: whether it would be again. */
bool access_still_granted(const struct exchange *x, struct state *st);

#endif
