package activity

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// emulator is a local stand-in for a cloud, in a container.
type emulator struct {
	name, image, health string
	port                int
}

// emulatorStep finds the action of flociUp and the like.
func emulatorStep(fn string) (make func(json.RawMessage) (Action, error), ok bool) {
	kind, up := strings.CutSuffix(fn, "Up")
	if !up {
		kind, ok = strings.CutSuffix(fn, "Down")
		if !ok {
			return nil, false
		}
	}
	var e emulator
	switch kind {
	case "floci":
		e = emulator{"chant-floci", "floci/floci:1.5.34", "/_localstack/health", 4566}
	case "flociAz":
		e = emulator{"chant-floci-az", "floci/floci-az:0.10.0", "/_floci/health", 4577}
	case "flociGcp":
		e = emulator{"chant-floci-gcp", "floci/floci-gcp:0.5.0", "/_floci-gcp/health", 4588}
	case "flaps":
		e = emulator{"chant-mudflaps", "ghcr.io/intentius/mudflaps:0.4.1", "/_mudflaps/health", 4280}
	case "sprites":
		e = emulator{"chant-spritzer", "ghcr.io/intentius/spritzer:0.4.1", "/_spritzer/health", 4290}
	default:
		return nil, false
	}
	if !up {
		return with(e.down), true
	}
	return with(e.up), true
}

type emulatorArgs struct {
	Name         string `json:"name"`
	Port         int    `json:"port"`
	Image        string `json:"image"`
	DockerSocket bool   `json:"dockerSocket"` // floci, from here on
	Region       string `json:"region"`
	ReadyService string `json:"readyService"`
	TimeoutMs    int64  `json:"timeoutMs"`
	IntervalMs   int64  `json:"intervalMs"`
}

func (a emulatorArgs) check() error {
	if a.Port < 0 || a.Port > 65535 {
		return fmt.Errorf("its argument port is %d; take 1 to 65535", a.Port)
	}
	return noFlags("name", a.Name, "image", a.Image)
}

func (a *emulatorArgs) fill(e emulator) {
	if a.Name == "" {
		a.Name = e.name
	}
	if a.Port == 0 {
		a.Port = e.port
	}
	if a.Image == "" {
		a.Image = e.image
	}
	if a.Region == "" {
		a.Region = "us-east-1"
	}
	if a.ReadyService == "" {
		a.ReadyService = "cloudformation"
	}
}

// isFloci says whether it stands in for AWS, which is told by its services.
func (e emulator) isFloci() bool { return e.port == 4566 }

type emulatorUp struct {
	Endpoint string `json:"endpoint"`
}

// up starts the container unless it runs, and waits until it is healthy.
func (e emulator) up(c Call, a emulatorArgs) (any, error) {
	a.fill(e)
	running, err := output(c, "docker", "ps", "-q", "-f", "name=^/?"+a.Name+"$")
	if err != nil && ExitCode(err) == nil {
		return nil, err
	}
	if err == nil && running != "" {
		c.Say("the container %s runs already", a.Name)
	} else if err := c.Run(Program{Argv: e.command(a)}); err != nil {
		return nil, err
	}
	endpoint := "http://localhost:" + strconv.Itoa(a.Port)
	if err := e.await(c, a, endpoint); err != nil {
		return nil, err
	}
	c.Say("%s is ready at %s", a.Name, endpoint)
	if e.isFloci() {
		c.Set(map[string]string{
			"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": a.Region,
		})
	}
	return emulatorUp{endpoint}, nil
}

func (e emulator) command(a emulatorArgs) []string {
	argv := []string{"docker", "run", "-d", "--rm", "--name", a.Name, "-p", fmt.Sprintf("%d:%d", a.Port, e.port)}
	if e.isFloci() && a.DockerSocket {
		argv = append(argv, "-v", "/var/run/docker.sock:/var/run/docker.sock")
	}
	return append(argv, a.Image)
}

func (e emulator) await(c Call, a emulatorArgs, endpoint string) error {
	check := checkArgs{URL: endpoint + e.health}
	if e.isFloci() {
		service := strconv.Quote(a.ReadyService)
		check.Contains = &service
	}
	limit := interval(a.TimeoutMs, time.Minute)
	deadline := time.Now().Add(limit)
	var why error
	for time.Now().Before(deadline) {
		if _, why = check.ask(c.Context()); why == nil {
			return nil
		}
		if err := c.Sleep(interval(a.IntervalMs, 2*time.Second)); err != nil {
			return errors.Join(err, why)
		}
	}
	return fmt.Errorf("%s was not ready within %s: %w", a.Name, limit, why)
}

// down removes the container; that there is none is as good.
func (e emulator) down(c Call, a emulatorArgs) (any, error) {
	a.fill(e)
	return nil, tolerate(c, c.Run(Program{Argv: []string{"docker", "rm", "-f", a.Name}}))
}
