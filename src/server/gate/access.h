/*
 * access - authenticates and authorizes every request before anything else is done with it.
 *
 * The user that authentication found must still exist. The user must be allowed to impersonate,
 * if the request asks for that. The user, or else the impersonated user, must be allowed to do
 * what the request asks. All of this is decided on committed objects, before the body is read and
 * before the object is looked up. So a forbidden request gets 403 whether or not the object exists.
 *
 * The request's lane allows the request if it remembers the right (authz_recall()). It looks up
 * the objects of a token's binding itself. Other requests are decided on the state's loop. These
 * are requests with a session or a pass, requests that impersonate, and those for custom resources,
 * discovery and OpenAPI.
 *
 * Until the state is loaded only health and version are open; other requests wait (ready.h).
 */
#ifndef SERVER_GATE_ACCESS_H
#define SERVER_GATE_ACCESS_H

#include <stdbool.h>

struct exchange;
struct state;

/*
 * Authenticates the request, on the stream's loop and without the state. Returns false if it was
 * rejected; the reply has been sent.
 */
bool access_identify(struct exchange *x);

/*
 * Authorizes the request and then calls `then`; immediately if the lane decides, or if the state's
 * loop is also the stream's. If the request is rejected, the reply is sent, and `then` is not
 * called.
 */
void access_ask(struct exchange *x, void (*then)(struct exchange *x));

/* On the state's loop, some time after access was granted: whether it would be granted again. */
bool access_still_granted(const struct exchange *x, struct state *st);

#endif
