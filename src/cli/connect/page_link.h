/*
 * page_link - a link that logs a browser in to the device page, once.
 *
 * The code is asked for as whoever the client is, and a session by it has that user's rights. It
 * stands behind the '#' of the link, which browsers keep to themselves: it is in no request line
 * and no log. Used by `devplane page` and `devplane up`, each with its own client and loop.
 * Threads: the client's loop.
 */
#ifndef CLI_CONNECT_PAGE_LINK_H
#define CLI_CONNECT_PAGE_LINK_H

#include "client/api/client.h"

enum {
	PAGE_LINK_SECONDS = 600, /* what the server gives when nobody says */
	PAGE_LINK_SECONDS_MAX = 3600,
};

/* One question, in the caller's storage; set `on_done` and `arg`, leave it alone until then. */
struct page_link {
	/*
	 * Once, later. `code` and `expires` (RFC 3339) are borrowed until return. err, when not
	 * NULL, says what to do: -ERR_NOT_FOUND when the server has no page.
	 */
	void (*on_done)(struct page_link *p, struct str code, struct str expires,
			const struct error *err);
	void *arg;

	/* Its own. */
	struct client_request request;
};

/* Asks for a code that is good for so many seconds. */
void page_link_ask(struct client *c, struct page_link *p, int64_t seconds);

/* Gives up: on_done will not be called. */
void page_link_cancel(struct page_link *p);

/* The link: `server` is the kubeconfig's URL. */
const char *page_link_url(struct arena *a, struct str server, struct str code);

/*
 * What to tell about the certificate that the browser will not know: the SHA-256 fingerprint of
 * the CA as people compare it, "AB:CD:..". Empty when `pem` has no certificate.
 */
const char *page_link_fingerprint(struct arena *a, struct str pem);

#endif
