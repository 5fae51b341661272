/*
 * volume_writer - replaces the files of a volume atomically.
 *
 * The layout is that of upstream's atomic writer. The folder has links to "..data/NAME". "..data"
 * is a link to a folder with the time in its name. A new state is a new such folder and one rename,
 * so programs that open files by name see either the old or the new state.
 */
#ifndef NODE_VOLUMES_WRITER_H
#define NODE_VOLUMES_WRITER_H

#include "node/volumes/dir.h"
#include "node/volumes/payload.h"

/*
 * Makes the folder contain these files; does nothing if it already does. After a failure the folder
 * is unchanged. `wall_ns` names the new state. *ret_changed may be NULL.
 */
int volume_writer_write(const char *dir, const struct volume_payload *p,
			const struct volume_owner *owner, int64_t wall_ns, bool *ret_changed,
			struct error *err);

#endif
