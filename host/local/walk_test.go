package local

import "os"

const walkerVar = "LOCAL_TEST_WALKER"

func walkerMain(string) { os.Exit(2) }
