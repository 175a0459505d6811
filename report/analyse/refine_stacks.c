#include "report/analyse/refine_stacks.h"

#include "report/analyse/allocators.h"
#include "report/analyse/wait_reasons.h"

void refine_stacks(struct profile *profile)
{
	wait_reasons_add(profile);
	allocators_leave_out(profile);
}
