package acp

import (
	"encoding/json"
)

// Meta is the free-form _meta object that every type may carry (spec,
// "Extensibility"). Keys are by domain.
type Meta map[string]any

// Types of a ContentBlock.
const (
	ContentText         = "text"
	ContentImage        = "image"
	ContentAudio        = "audio"
	ContentResourceLink = "resource_link"
	ContentResource     = "resource"
)

// ContentBlock is one piece of a prompt or a message (schema type
// ContentBlock, a union told apart by Type). Only the fields of its type are
// meaningful.
type ContentBlock struct {
	Type string

	Text     string            // text
	Data     string            // image, audio: base64
	MimeType string            // image, audio, resource_link
	URI      string            // resource_link; image: where it came from
	Name     string            // resource_link
	Title    string            // resource_link
	Resource *EmbeddedResource // resource

	Meta Meta
}

// EmbeddedResource is the contents of a resource sent along (schema type
// EmbeddedResourceResource): Text, or Blob in base64.
type EmbeddedResource struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     *string `json:"blob,omitempty"`
}

// Text makes a text block.
func Text(s string) ContentBlock { return ContentBlock{Type: ContentText, Text: s} }

// MarshalJSON writes the fields of the block's type.
func (c ContentBlock) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil) }

// AppendJSON implements [Appender].
func (c ContentBlock) AppendJSON(b []byte) ([]byte, error) {
	var v any
	switch c.Type {
	case ContentImage, ContentAudio:
		v = struct {
			Data     string `json:"data"`
			MimeType string `json:"mimeType"`
			URI      string `json:"uri,omitempty"`
			Meta     Meta   `json:"_meta,omitempty"`
		}{c.Data, c.MimeType, c.URI, c.Meta}
	case ContentResourceLink:
		v = struct {
			Name     string `json:"name"`
			URI      string `json:"uri"`
			Title    string `json:"title,omitempty"`
			MimeType string `json:"mimeType,omitempty"`
			Meta     Meta   `json:"_meta,omitempty"`
		}{c.Name, c.URI, c.Title, c.MimeType, c.Meta}
	case ContentResource:
		v = struct {
			Resource *EmbeddedResource `json:"resource"`
			Meta     Meta              `json:"_meta,omitempty"`
		}{c.Resource, c.Meta}
	default:
		return appendMeta(AppendString(append(b, `{"type":"text","text":`...), c.Text), c.Meta)
	}
	return appendTagged(b, "type", c.Type, v)
}

// UnmarshalJSON reads a block strictly: a type that version 1 does not know, or
// a missing field of the type, is an *Error with code -32602.
func (c *ContentBlock) UnmarshalJSON(raw []byte) error {
	return c.decode(raw, "content")
}

func (c *ContentBlock) decode(raw json.RawMessage, path string) error {
	o := readObject(raw, path)
	*c = ContentBlock{Type: o.string("type"), Meta: o.meta()}
	switch c.Type {
	case ContentText:
		c.Text = o.string("text")
	case ContentImage, ContentAudio:
		c.Data, c.MimeType, c.URI = o.string("data"), o.string("mimeType"), o.optString("uri")
	case ContentResourceLink:
		c.Name, c.URI = o.string("name"), o.string("uri")
		c.Title, c.MimeType = o.optString("title"), o.optString("mimeType")
	case ContentResource:
		r, _ := o.get("resource")
		c.Resource = decodeResource(o, r)
	default:
		o.fail("type", "is %q: protocol version 1 knows text, image, audio, resource_link and resource", c.Type)
	}
	return o.done()
}

func decodeResource(o *object, raw json.RawMessage) *EmbeddedResource {
	r := readObject(raw, o.at("resource"))
	res := &EmbeddedResource{URI: r.string("uri"), MimeType: r.optString("mimeType")}
	if _, ok := r.get("text"); ok {
		s := r.string("text")
		res.Text = &s
	} else {
		s := r.string("blob")
		res.Blob = &s
	}
	if o.err == nil {
		o.err = r.err
	}
	return res
}
