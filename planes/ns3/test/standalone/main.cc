// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs the test suites outside an ns-3 source tree: --suite=fairlane --verbose
#include "ns3/test.h"

int
main(int argc, char** argv)
{
    return ns3::TestRunner::Run(argc, argv);
}
