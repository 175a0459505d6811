/* Takes a recording's entities into a profile as they are read, and checks every reference once. */
#ifndef EBPROF_LOAD_VISITOR_H
#define EBPROF_LOAD_VISITOR_H

#include "format/file/reader.h"

/* Its context is a struct profile that has index 0 of each table, and options. */
extern const struct reader_visitor load_visitor;

#endif
