package main

import (
	"debug/elf"
	"path/filepath"
	"slices"
	"testing"
)

// What runs a project's commands can't speak to the network: the linker found no use
// for what connects, listens or looks up a name. That chant-acpd has it all shows
// that these are the names to look for.
func TestNothingSpeaksToTheNetwork(t *testing.T) {
	network := []string{"net.internetSocket", "net.(*sysDialer).dialTCP", "net.(*ListenConfig).Listen", "net.(*Resolver).lookupIPAddr", "crypto/tls.(*Conn).handshakeContext"}
	linked := func(program string) (found []string) {
		f, err := elf.Open(filepath.Join(filepath.Dir(binary(t)), program))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		symbols, err := f.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range symbols {
			if slices.Contains(network, s.Name) {
				found = append(found, s.Name)
			}
		}
		return found
	}
	if found := linked("chant-acp"); found != nil {
		t.Errorf("chant-acp holds %q", found)
	}
	if found := linked("chant-acpd"); len(found) != len(network) {
		t.Errorf("chant-acpd holds %q only; all of %q were to be there", found, network)
	}
}
