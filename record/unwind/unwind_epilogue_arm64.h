/*
 * Rules within epilogues of what .NET's NativeAOT has compiled for arm64: they load the frame
 * pointer and the return address, move the stack pointer up, and leave the function.
 *
 * Source: src/coreclr/jit/codegenarm64.cpp of .NET 8 to 10,
 * genPopCalleeSavedRegistersAndFreeLclFrame().
 */
#ifndef EBPROF_UNWIND_EPILOGUE_ARM64_H
#define EBPROF_UNWIND_EPILOGUE_ARM64_H

#include "record/unwind/unwind_epilogue.h"

/* Puts the rows of all epilogues in [from, len) of the function's code, by address. */
void unwind_epilogue_put_arm64(
	const struct unwind_epilogue_rows *rows, const uint8_t *code, size_t from, size_t len);

#endif
