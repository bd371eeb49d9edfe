// Package agentcmd holds the commands that are an agent in this process: serve, which
// editors start, prompt, which runs one prompt on a terminal, and version.
package agentcmd
