/*
 * volume_writer - files of a volume, replaced all at once.
 *
 * The folder has links to "..data/NAME", "..data" is a link to a folder with the time in its
 * name, and a new state is a new such folder and one rename. So whoever opens files by their
 * names sees one state or the other. As upstream's atomic writer lays it out.
 */
#ifndef NODE_VOLUMES_WRITER_H
#define NODE_VOLUMES_WRITER_H

#include "node/volumes/dir.h"
#include "node/volumes/payload.h"

/*
 * Makes the folder have these files; when it has them, nothing is touched. After a failure it is as
 * it was. `wall_ns` names the new state. *ret_changed may be NULL.
 */
int volume_writer_write(const char *dir, const struct volume_payload *p,
			const struct volume_owner *owner, int64_t wall_ns, bool *ret_changed,
			struct error *err);

#endif
