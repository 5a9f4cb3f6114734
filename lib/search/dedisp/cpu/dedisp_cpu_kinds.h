/* dedisp_cpu_kinds.h: instantiates the kernels of dedisp_cpu_lane.h for all lane types (private).
 */

#define KIND  k8_16
#define STORE uint8_t
#define NODE  uint16_t
#define TOTAL uint32_t
#ifdef WIDEN_8_16
#define WIDEN      WIDEN_8_16
#define WIDEN_NODE WIDEN_16_32
#endif
#include "dedisp_cpu_lane.h"
#undef WIDEN
#undef KIND
#undef STORE

#define KIND  k16_16
#define STORE uint16_t
#include "dedisp_cpu_lane.h"
#undef WIDEN_NODE
#undef KIND
#undef NODE
#undef TOTAL

#define KIND  k16_32
#define NODE  uint32_t
#define TOTAL uint64_t
#ifdef WIDEN_16_32
#define WIDEN      WIDEN_16_32
#define WIDEN_NODE WIDEN_32_64
#endif
#include "dedisp_cpu_lane.h"
#undef WIDEN
#undef KIND
#undef STORE

#define KIND  k32_32
#define STORE uint32_t
#include "dedisp_cpu_lane.h"
#undef WIDEN_NODE
#undef KIND
#undef NODE

#define KIND k32_64
#define NODE uint64_t
#include "dedisp_cpu_lane.h"
#undef KIND
#undef STORE
#undef NODE
#undef TOTAL

#define KIND  kfloat
#define STORE float
#define NODE  float
#define TOTAL double
#include "dedisp_cpu_lane.h"
#undef KIND
#undef STORE
#undef NODE
#undef TOTAL
