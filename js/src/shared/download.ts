/** Let the browser save `data` as a file. */
export function download(name: string, data: BlobPart, mime = ''): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([data], { type: mime }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
