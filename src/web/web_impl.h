/*
 * web_impl - the table that embed.py makes.
 */
#ifndef WEB_WEB_IMPL_H
#define WEB_WEB_IMPL_H

#include "web/web.h"

extern const struct web_file web_files[];
extern const size_t web_nfiles;

#endif
