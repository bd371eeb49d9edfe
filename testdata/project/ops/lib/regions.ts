export const regions = ["eu", "us"];

export const announce = (region: string) => `echo "deploying to $REGION (${region})"`;
