// Check reads every environment file of a folder and says what is wrong.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"example.com/fleet/envfile"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: check FOLDER")
		os.Exit(2)
	}
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*.txt"))
	if err != nil || len(files) == 0 {
		fmt.Fprintf(os.Stderr, "check: no *.txt in %s\n", os.Args[1])
		os.Exit(1)
	}
	failed := false
	for _, file := range files {
		if err := check(file); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			failed = true
			continue
		}
		fmt.Printf("%s: ok\n", file)
	}
	if failed {
		os.Exit(1)
	}
}

func check(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	services, err := envfile.Parse(f)
	if err == nil && len(services) == 0 {
		return fmt.Errorf("no service in it")
	}
	return err
}
