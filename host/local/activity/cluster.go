package activity

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

type clusterArgs struct {
	Name           string   `json:"name"`
	Servers        *int     `json:"servers"`
	Agents         *int     `json:"agents"`
	Image          string   `json:"image"`
	Ports          []string `json:"ports"`
	RegistryCreate string   `json:"registryCreate"`
	ConfigFile     string   `json:"configFile"`
	Timeout        string   `json:"timeout"`
	UpdateDefault  *bool    `json:"updateDefaultKubeconfig"`
	SwitchCurrent  *bool    `json:"switchCurrentContext"`
}

func (a clusterArgs) check() error {
	return errors.Join(required("name", a.Name),
		noFlags("image", a.Image, "registryCreate", a.RegistryCreate, "configFile", a.ConfigFile, "timeout", a.Timeout))
}

type cluster struct {
	Context    string `json:"context"`
	Kubeconfig string `json:"kubeconfigPath,omitempty"`
}

// k3dUp makes a cluster of k3d, unless it is there.
func k3dUp(c Call, a clusterArgs) (any, error) {
	there, err := output(c, "k3d", "cluster", "list", a.Name, "--no-headers")
	if err != nil && ExitCode(err) == nil {
		return nil, err
	}
	if err == nil && there != "" {
		c.Say("the cluster %s is there already", a.Name)
	} else if err := c.Run(Program{Argv: a.create()}); err != nil {
		return nil, err
	}
	up := cluster{Context: "k3d-" + a.Name}
	if a.UpdateDefault == nil || !*a.UpdateDefault {
		if up.Kubeconfig, err = output(c, "k3d", "kubeconfig", "write", a.Name); err != nil {
			return nil, err
		}
	}
	return up, nil
}

// create leaves the kubeconfig alone, unless the arguments or a file of the
// cluster say otherwise.
func (a clusterArgs) create() []string {
	argv := []string{"k3d", "cluster", "create", a.Name}
	if a.Servers != nil {
		argv = append(argv, "--servers", strconv.Itoa(*a.Servers))
	}
	if a.Agents != nil {
		argv = append(argv, "--agents", strconv.Itoa(*a.Agents))
	}
	if a.Image != "" {
		argv = append(argv, "--image", a.Image)
	}
	for _, port := range a.Ports {
		argv = append(argv, "-p", port)
	}
	if a.RegistryCreate != "" {
		argv = append(argv, "--registry-create", a.RegistryCreate)
	}
	if a.ConfigFile != "" {
		argv = append(argv, "--config", a.ConfigFile)
	}
	for _, flag := range []struct {
		name  string
		value *bool
	}{{"--kubeconfig-update-default", a.UpdateDefault}, {"--kubeconfig-switch-context", a.SwitchCurrent}} {
		if a.ConfigFile == "" || flag.value != nil {
			argv = append(argv, fmt.Sprintf("%s=%t", flag.name, flag.value != nil && *flag.value))
		}
	}
	timeout := a.Timeout
	if timeout == "" {
		timeout = "120s"
	}
	return append(argv, "--wait", "--timeout", timeout)
}

func k3dDown(c Call, a clusterArgs) (any, error) {
	return nil, c.Run(Program{Argv: []string{"k3d", "cluster", "delete", a.Name}})
}

type pipelineArgs struct {
	Name       string `json:"name"`
	Ref        string `json:"ref"`
	IntervalMs int64  `json:"intervalMs"`
}

func (a pipelineArgs) check() error {
	return errors.Join(required("name", a.Name), noFlags("ref", a.Ref))
}

// gitlabPipeline starts a pipeline and waits for its end.
func gitlabPipeline(c Call, a pipelineArgs) (any, error) {
	ref := a.Ref
	if ref == "" {
		ref = "HEAD"
	}
	if err := c.Run(Program{Argv: []string{"glab", "ci", "run", "--project", a.Name, "--ref", ref}}); err != nil {
		return nil, err
	}
	last := ""
	for {
		text, err := output(c, "glab", "ci", "status", "--project", a.Name, "--format", "json")
		if err != nil {
			return nil, err
		}
		var pipelines []struct{ Status string }
		status := ""
		if json.Unmarshal([]byte(text), &pipelines) == nil && len(pipelines) > 0 {
			status = pipelines[0].Status
		}
		if status != last {
			c.Say("the pipeline of %s is %s", a.Name, status)
			last = status
		}
		switch status {
		case "success":
			return nil, nil
		case "failed", "canceled":
			return nil, fmt.Errorf("the pipeline of %s ended as %s", a.Name, status)
		}
		if err := c.Sleep(interval(a.IntervalMs, 30*time.Second)); err != nil {
			return nil, err
		}
	}
}
