/*
 * page_link - a one-time link that logs a browser in to the device page.
 *
 * The client requests a code, and a session started with it has the client's rights. The code is
 * in the link's fragment (after '#'), which browsers do not send, so it appears in no request line
 * and no log. `devplane page` and `devplane up` use it, each with its own client and loop.
 * Threads: the client's loop.
 */
#ifndef CLI_CONNECT_PAGE_LINK_H
#define CLI_CONNECT_PAGE_LINK_H

#include "client/api/client.h"

enum {
	PAGE_LINK_SECONDS = 600, /* the server's default */
	PAGE_LINK_SECONDS_MAX = 3600,
};

/* One request, in the caller's memory. Set `on_done` and `arg`, and do not touch it until then. */
struct page_link {
	/*
	 * Called once, later. `code` and `expires` (RFC 3339) are borrowed until return. If not
	 * NULL, `err` says what to do; -ERR_NOT_FOUND: the server has no page.
	 */
	void (*on_done)(struct page_link *p, struct str code, struct str expires,
			const struct error *err);
	void *arg;

	/* Private. */
	struct client_request request;
};

/* Requests a code that is valid for `seconds`. */
void page_link_ask(struct client *c, struct page_link *p, int64_t seconds);

/* The link: `server` is the kubeconfig's URL. */
const char *page_link_url(struct arena *a, struct str server, struct str code);

/*
 * The SHA-256 fingerprint of the CA, "AB:CD:..", for comparison in the browser, which does not
 * know the certificate. Empty if `pem` has no certificate.
 */
const char *page_link_fingerprint(struct arena *a, struct str pem);

#endif
