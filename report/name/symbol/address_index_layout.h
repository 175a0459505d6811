/*
 * How an address index stands on disk. Everything is little-endian; offsets count from the start of
 * the file, and since the version stands there, an offset of 0 is none.
 *
 *   u32       version
 *   texts     each with its NUL
 *   functions varint: offset of the name, offset of the path of its declaration, line of that
 *   blocks    see below; these three come mixed, each behind what it refers to
 *   table     of blocks, by address: u64 first address, u32 bytes of code, u32 offset, u32 bytes
 *   sums      u64 for each page of 4096 bytes before them: a checksum
 *   trailer   u32 version, u32 number of blocks, u64 offset of the table, u64 offset of the sums,
 *             u64 checksum of the sums, u64 checksum of the trailer up to here
 *
 * A block is what is known of some consecutive code: stretches, each with a chain. The table leads
 * to it and it needs nothing but texts and functions, so a look-up reads one block, the pages of
 * the table that a binary search comes by, and the texts of the answer; only these are checked.
 *
 * Inside of a block texts, functions and nodes are numbered from 1 as they come. A reference is a
 * varint: 0 is none; a number that was given; or the next one, behind which an offset says what
 * it is. A node is a function and where it was called, in a node that stands before it or in none,
 * so nodes are a tree and a chain is the way from one to its root.
 *
 *   stretch   varint: bytes since the last one's start << 5 | flags, then what the flags tell
 *     NODE_KNOWN    varint: the number of its node, 0: nothing is known here
 *     NODES_NEW     varint: how many; then the nodes, outermost first, each in the one before;
 *                   the last one is the stretch's
 *     FILE          reference of a text
 *     LINE          zigzag: added to the line
 *     COLUMN        varint
 *   node      varint: number of what it is in << 1 | whether it is inlined, for the first of
 *             several; that bit alone for the others
 *             reference of a function
 *             where the one that it is in called it, when it is in one: reference of a text,
 *             varint line, varint column
 *
 * What flags do not tell is as for the stretch before, first in a block: none, 0, 0 and 0.
 */
#ifndef EBPROF_ADDRESS_INDEX_LAYOUT_H
#define EBPROF_ADDRESS_INDEX_LAYOUT_H

enum {
	ADDRESS_INDEX_VERSION = 3, /* also when the same file gives other names than before */
	ADDRESS_INDEX_PAGE_BYTES = 4096,
	ADDRESS_INDEX_ROW_BYTES = 8 + 4 + 4 + 4,
	ADDRESS_INDEX_TRAILER_BYTES = 4 + 4 + 8 + 8 + 8 + 8,

	ADDRESS_INDEX_FLAGS_BITS = 5,
	ADDRESS_INDEX_NODE_KNOWN = 1,
	ADDRESS_INDEX_NODES_NEW = 2,
	ADDRESS_INDEX_FILE = 4,
	ADDRESS_INDEX_LINE = 8,
	ADDRESS_INDEX_COLUMN = 16,
};

#endif
